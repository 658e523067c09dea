//! Tools that look for what they were not given, and that never stop.

use std::{hint::black_box, io::Write};

use rewake_sdk::prelude::*;
use rewake_test_guests::snoop;

#[args]
struct Snoop {
    /// A port of the host.
    port: u16,
}

/// Look for what was not granted.
#[tool(effect = pure)]
fn look(args: Snoop) -> Result<String, ToolError> {
    Ok(snoop::lines(args.port).join("\n"))
}

/// Write to standard output until it is stopped.
#[tool]
fn flood() -> Result<(), ToolError> {
    let line = [b'x'; 4_096];
    loop {
        std::io::stdout().write_all(&line)?;
    }
}

/// Compute until it is stopped.
#[tool]
fn spin() -> Result<(), ToolError> {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

rewake_sdk::tools![look, flood, spin];
