//! Tools of the benchmarks: one that does hardly anything, and one that reads the clock.

use std::hint::black_box;

use rewake_sdk::prelude::*;
use rewake_test_guests::time::now_ms;

#[args]
struct Work {
    /// What to say.
    text: String,
}

/// Say what is given.
#[tool(effect = pure)]
fn work(args: Work) -> Result<String, ToolError> {
    Ok(args.text)
}

#[args]
struct Clocks {
    /// How often.
    times: u32,
}

/// Read the wall clock.
#[tool(effect = pure)]
fn clocks(args: Clocks) -> Result<String, ToolError> {
    for _ in 0..args.times {
        black_box(now_ms());
    }
    Ok(String::new())
}

rewake_sdk::tools![work, clocks];
