//! A hook that looks for what it was not given, and adds what it finds as context.

use rewake_sdk::prelude::*;
use rewake_test_guests::snoop;

#[derive(Deserialize)]
struct Config {
    /// A port of the host.
    port: u16,
}

#[hook]
fn before_tool(event: PreToolUse) -> Result<Verdict> {
    let config: Config = event.common.config()?;
    Ok(Verdict::context(snoop::lines(config.port).join("\n")))
}

rewake_sdk::hooks![before_tool];
