//! The `rewake` program: runs and reads sessions from a terminal. This file knows how the program starts
//! and ends; each subcommand has its file, and none of them knows how sessions work inside.

mod args;
mod bundle;
mod check;
mod data;
mod describe;
mod doctor;
mod events;
mod exit;
mod forms;
mod grants;
mod journal;
mod out;
mod outcome;
mod prompt;
mod queued;
mod run;
mod sending;
mod sent;
mod sessions;
mod shell;
mod show;
mod signals;
mod stream;
mod talk;
mod workspace;

use std::process::ExitCode;
use std::time::Duration;

use args::{Cli, Command};
use clap::{CommandFactory as _, Parser as _};
use data::Places;
use exit::{Failure, Outcome};
use out::note;
use rewake_sandbox::compiler::{COMPILE_WORD, compile_for_parent};
use tracing_subscriber::EnvFilter;

/// How long background work may take to stop once the command is done.
const SHUTDOWN: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(COMPILE_WORD) {
        return compile_for_parent(words);
    }
    let cli = Cli::parse();
    trace(cli.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => return ended(Err(Failure::io("starting", source))),
    };
    let result = runtime.block_on(dispatch(cli));
    runtime.shutdown_timeout(SHUTDOWN);
    ended(result)
}

async fn dispatch(cli: Cli) -> Result<Outcome, Failure> {
    let places = Places::find(cli.data, cli.cache, cli.config)?;
    let is_unfolded = cli.verbose > 0;
    match cli.command {
        Command::Run(run) => run::run(&places, run, is_unfolded).await,
        Command::Answer(answer) => run::answer(&places, answer).await,
        Command::Stop(stop) => run::stop(&places, stop).await,
        Command::Edit { about, text } => queued::edit(&places, &about, text).await,
        Command::Cancel { about } => queued::cancel(&places, &about).await,
        Command::Promote { about, json } => run::promote(&places, about, json).await,
        Command::Sessions(sessions) => sessions::list(&places, &sessions).await,
        Command::Show { id, request: Some(seq), json } => sent::show(&places, &id, seq, json).await,
        Command::Show { id, .. } => show::show(&places, &id).await,
        Command::Events(events) => events::list(&places, &events).await,
        Command::Replay { id } => check::replay(&places, &id).await,
        Command::Verify { id } => check::verify(&places, id).await,
        Command::Grant(grant) => grants::grant(&places, &grant).await,
        Command::ClearFault { id } => check::clear_fault(&places, &id).await,
        Command::Workspace(command) => workspace::workspace(&places, command).await,
        Command::Doctor => doctor::doctor(&places).await,
        Command::Completions { shell } => completions(shell),
        Command::Bundle(command) => bundle::bundle(&places, command).await,
    }
}

/// `rewake completions`: what a shell reads to complete this program's arguments.
fn completions(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "rewake", &mut script);
    let mut out = out::Out::new();
    out.raw(String::from_utf8_lossy(&script).trim_end())?;
    out.flush()?;
    Ok(Outcome::Done)
}

fn ended(result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(failure) => {
            note(&format!("error: {failure}"));
            ExitCode::from(failure.code())
        }
    }
}

/// Diagnostics go to standard error: `REWAKE_LOG` says which, else `-v`, else warnings only.
fn trace(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let wanted = std::env::var("REWAKE_LOG").ok();
    let filter = wanted.as_deref().map(EnvFilter::try_new).and_then(|filter| {
        filter.inspect_err(|error| note(&format!("REWAKE_LOG is not understood, and not used: {error}"))).ok()
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|| EnvFilter::new(default)))
        .with_ansi(false)
        .with_writer(|| out::Diagnostics)
        .init();
}
