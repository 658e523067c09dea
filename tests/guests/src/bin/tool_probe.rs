//! Tools that are slow, leave traces, or misbehave.
//!
//! Each `append_…` writes its line before it sleeps, so that a host killed in between shows from
//! the outside how often the tool ran.

use std::{fs::OpenOptions, hint::black_box, io::Write, thread, time::Duration};

use rewake_sdk::prelude::*;
use serde_json::{Map, Value, json};

#[args]
struct Append {
    /// An absolute path.
    path: String,
    /// The line to append.
    line: String,
    /// How long to sleep before it, in milliseconds.
    #[serde(default)]
    before_ms: u64,
    /// How long to sleep after it, in milliseconds.
    #[serde(default)]
    sleep_ms: u64,
}

fn append(args: &Append) -> Result<String, ToolError> {
    thread::sleep(Duration::from_millis(args.before_ms));
    let mut file = OpenOptions::new().create(true).append(true).open(&args.path)?;
    // One write, so that lines of tools that run side by side do not mix.
    file.write_all(format!("{}\n", args.line).as_bytes())?;
    drop(file);
    thread::sleep(Duration::from_millis(args.sleep_ms));
    Ok(format!("appended {}", args.line))
}

/// Append a line; it may be repeated.
#[tool(effect = idempotent)]
fn append_idempotent(args: Append) -> Result<String, ToolError> {
    append(&args)
}

/// Append a line; it may not be repeated.
#[tool(effect = once)]
fn append_once(args: Append) -> Result<String, ToolError> {
    append(&args)
}

#[args]
struct Lines {
    /// An absolute path.
    path: String,
    /// How many lines.
    lines: u64,
    /// How long to sleep after each, in milliseconds.
    pause_ms: u64,
}

/// Append so many lines, each its number.
#[tool(effect = once)]
fn append_lines(args: Lines) -> Result<String, ToolError> {
    for at in 1..=args.lines {
        let (path, line) = (args.path.clone(), at.to_string());
        append(&Append { path, line, before_ms: 0, sleep_ms: args.pause_ms })?;
    }
    Ok(format!("appended {} lines", args.lines))
}

#[args]
struct Sleep {
    /// How long, in milliseconds.
    ms: u64,
    /// A file to read afterwards.
    path: Option<String>,
}

/// Sleep, and then read a file if one is named.
#[tool(effect = pure)]
fn sleep_pure(args: Sleep) -> Result<String, ToolError> {
    thread::sleep(Duration::from_millis(args.ms));
    match args.path {
        Some(path) => Ok(std::fs::read_to_string(path)?),
        None => Ok(format!("slept {} ms", args.ms)),
    }
}

/// Crash.
#[tool]
fn trap() -> Result<(), ToolError> {
    panic!("this tool crashes when it is called");
}

/// Never return.
#[tool]
fn loop_forever() -> Result<(), ToolError> {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

/// Take memory until there is no more.
#[tool]
fn grow_memory() -> Result<String, ToolError> {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    while black_box(kept.len()) < 1 << 20 {
        kept.push(black_box(vec![1; 1 << 20]));
    }
    Err(ToolError::failed(format!("{} MiB and still no limit", kept.len())))
}

#[args]
struct Big {
    /// How many bytes.
    bytes: u32,
}

/// Return so many bytes of text.
#[tool(effect = pure)]
fn big_output(args: Big) -> Result<String, ToolError> {
    Ok("x".repeat(args.bytes as usize))
}

#[args]
struct Fail {
    /// What to say.
    #[serde(default)]
    message: String,
}

/// Fail.
#[tool]
fn fail(args: Fail) -> Result<(), ToolError> {
    Err(ToolError::failed(args.message))
}

/// Return the input and what the host told about the call.
#[tool(effect = idempotent)]
fn echo(input: Map<String, Value>, cx: &ToolContext) -> Result<Json<Value>, ToolError> {
    Ok(Json(json!({
        "input": input,
        "idempotency_key": cx.idempotency_key,
        "session": cx.session,
        "turn": cx.turn,
        "config": cx.config::<Value>()?,
    })))
}

rewake_sdk::tools![
    append_idempotent,
    append_once,
    append_lines,
    sleep_pure,
    trap,
    loop_forever,
    grow_memory,
    big_output,
    fail,
    echo
];
