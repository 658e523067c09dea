//! The hook of the benchmarks: it is asked about every tool call, and has nothing to say.

use rewake_sdk::prelude::*;

#[hook]
fn before_tool(_event: PreToolUse) -> Result<Verdict> {
    Ok(Verdict::none())
}

rewake_sdk::hooks![before_tool];
