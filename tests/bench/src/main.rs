//! `rewake-bench`: measures the figures of docs/benchmarks.md on this machine. `cargo xtask bench` builds
//! everything that it needs and runs it.
//!
//! This file knows the arguments and how a run ends: 0, everything was measured, whatever it came to; 1, it could
//! not be; 2, the machine did other things and some of it says nothing.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its terminal here"
)]

mod args;
mod bed;
mod bench;
mod facts;
mod figures;
mod floor;
mod report;
mod stats;

use std::process::ExitCode;

use args::{Args, Asked};
use bench::Bench;
use facts::Facts;
use report::Report;

/// Why something cannot be measured.
type Failed = Box<dyn std::error::Error + Send + Sync>;
type Result<T = ()> = std::result::Result<T, Failed>;

/// The exit code of a run that says nothing about some figure.
const VOID: u8 = 2;

fn main() -> ExitCode {
    let result = Asked::parse(std::env::args().skip(1)).and_then(|asked| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(dispatch(asked))
    });
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

async fn dispatch(asked: Asked) -> Result<ExitCode> {
    match asked {
        Asked::Help => {
            println!("{}", args::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Asked::Loaded { count, data, places } => {
            println!("{}", figures::resident::loaded(&places, data, count).await?);
            Ok(ExitCode::SUCCESS)
        }
        Asked::Run(args) => run(&args).await,
    }
}

async fn run(args: &Args) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.places.data)?;
    let facts = Facts::of(&args.places.data);
    let mut bench = Bench::new(args)?;
    let mut rows = Vec::new();
    for figure in args.figures() {
        eprintln!("measuring: {}", figure.what);
        let measured = (figure.measure)(&mut bench).await;
        let measured = measured.map_err(|error| format!("{}: {error}", figure.what))?;
        for row in &measured {
            // A run that is cut off has told what it knows.
            eprintln!("  {}", row.line());
        }
        rows.extend(measured);
    }
    let report = Report::new(facts, args.quick, rows);
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    println!("{}", report.table());
    if report.has_void() {
        eprintln!("some figures are void: their floor was disturbed. Run it again while nothing else runs.");
        return Ok(ExitCode::from(VOID));
    }
    Ok(ExitCode::SUCCESS)
}
