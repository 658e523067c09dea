//! `rewake bundle call`: one call of a tool in the sandbox, and what it did. What it returns goes to standard
//! output, everything else to standard error.

use std::path::PathBuf;

use clap::Args;
use rewake_author::call::{self, Answer, Call as Asked, CallError, Place};
use rewake_bundle::Locator;
use rewake_core::fact::{FileUsed, HttpUse, LogLevel};
use rewake_policy::config::AllowedAsk;
use rewake_runtime::host::standalone::StandaloneGrants;
use rewake_sandbox::workspace::WorkspaceError;
use rewake_text::one_line;
use rewake_wire::Outcome as Ended;
use serde_json::json;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::forms::LOCATOR;
use crate::out::{Out, Style, note};

/// Lines of the audit list that are shown; `--json` has all.
const AUDIT_LINES_MAX: usize = 40;
/// Characters of a line of it.
const LINE_CHARS_MAX: usize = 300;

/// Call one of a bundle's tools once, in the sandbox and outside of any session.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The tool
    tool: String,
    /// Its input: a JSON object; `-` reads standard input
    #[arg(default_value = "{}")]
    input: String,
    /// The bundle: a folder, a packed file, or the name of an installed one
    #[arg(long, value_name = "BUNDLE", default_value = ".", value_parser = LOCATOR)]
    bundle: Locator,
    /// Grant this, as rules write it, such as `fs:workspace:ro`; can be repeated
    #[arg(long, value_name = "ASK", value_parser = ask, conflicts_with = "grant_asked")]
    grant: Vec<AllowedAsk>,
    /// Grant whatever the bundle asks for
    #[arg(long)]
    grant_asked: bool,
    /// Folder whose copy is the workspace; without it the workspace is empty
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Let the tool work on the folder itself, and not on a copy
    #[arg(long, requires = "workspace")]
    in_place: bool,
    /// Print all that came of it as a line of JSON
    #[arg(long)]
    json: bool,
}

fn ask(text: &str) -> Result<AllowedAsk, String> {
    text.parse().map_err(|invalid: rewake_toml::Invalid| invalid.to_string())
}

/// `rewake bundle call`.
pub(crate) async fn call(places: &Places, asked: &Call) -> Result<Outcome, Failure> {
    let input = match asked.input.as_str() {
        "-" => std::io::read_to_string(std::io::stdin())
            .map_err(|error| Failure::io("reading standard input", error))?,
        input => input.to_owned(),
    };
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&input) {
        return Err(Failure::Usage(format!(
            "the input is not JSON ({error}); write it as an object: '{{\"path\": \"a.txt\"}}'"
        )));
    }
    let request = Asked {
        tool: asked.tool.clone(),
        input,
        grants: if asked.grant_asked {
            StandaloneGrants::Asked
        } else {
            StandaloneGrants::These(asked.grant.clone())
        },
        place: match (&asked.workspace, asked.in_place) {
            (None, _) => Place::Empty,
            (Some(folder), false) => Place::Copy(folder.clone()),
            (Some(folder), true) => Place::InPlace(folder.clone()),
        },
    };
    let opened = places.host(places.write().await?)?;
    let answered = async {
        let bundle = opened.host.find(&asked.bundle).await?;
        call::call(&opened.host, &bundle, &request).await.map_err(failure)
    };
    let answered = answered.await;
    opened.close().await;
    let answer = answered?;
    let mut out = Out::new();
    match asked.json {
        true => out.json(&as_json(&answer))?,
        false => show(&mut out, &answer)?,
    }
    out.flush()?;
    let is_ok = answer.called.completed.outcome == Ended::Ok;
    Ok(if is_ok { Outcome::Done } else { Outcome::ToolFailed })
}

fn failure(error: CallError) -> Failure {
    match error {
        CallError::Host(error) => error.into(),
        CallError::Workspace(WorkspaceError::Io { .. }) | CallError::Room(_) => {
            Failure::Machine(error.to_string())
        }
        CallError::Workspace(_) | CallError::NoTool(_) => Failure::Usage(error.to_string()),
    }
}

fn show(out: &mut Out, answer: &Answer) -> Result<(), Failure> {
    let completed = &answer.called.completed;
    let is_ok = completed.outcome == Ended::Ok;
    let text = describe::parts(&completed.parts);
    if is_ok {
        out.line(Style::Plain, text.trim_end_matches('\n'))?;
        out.flush()?;
    }
    if let Some(logs) = &answer.called.logs {
        for line in &logs.lines {
            note(&format!("{}| {}", level(line.level), line.text));
        }
        if logs.dropped > 0 {
            note(&format!("{} more lines were over the limit", logs.dropped));
        }
    }
    audit(&completed.audit.uses, completed.audit.dropped, &completed.http);
    let used = answer.called.used;
    let took = format!(
        "{} ms, {} fuel, {} of memory",
        completed.ms,
        grouped(used.fuel),
        describe::bytes(used.memory_bytes)
    );
    if completed.cut_bytes > 0 {
        note(&format!("{} of its output were over the limit, and cut", describe::bytes(completed.cut_bytes)));
    }
    if answer.copied.left_out > 0 {
        note(&format!("{} links and the like were not copied into the workspace", answer.copied.left_out));
    }
    match is_ok {
        true => note(&format!("ok: {took}")),
        false => {
            note(&format!("{}: {took}\n{text}", word(completed.outcome)));
            withheld(answer);
        }
    }
    Ok(())
}

/// What to grant, where the bundle asks for what it did not get.
fn withheld(answer: &Answer) {
    for one in answer.asked.iter().filter(|one| !one.is_granted) {
        let way = match one.is_ruled {
            true => "the operator's rules name the bundle, and leave it out".to_owned(),
            false => format!("grant it with --grant {}, or all of it with --grant-asked", one.ask),
        };
        note(&format!("{} asks to {} ({}): {way}", one.component, one.words, one.ask));
    }
}

fn audit(files: &[FileUsed], dropped: u64, requests: &[HttpUse]) {
    for file in files.iter().take(AUDIT_LINES_MAX) {
        let mut line = format!("{} {}", file.op.function().trim_start_matches("filesystem."), file.path);
        if !file.to.is_empty() {
            line.push_str(&format!(" -> {}", file.to));
        }
        if file.bytes > 0 {
            line.push_str(&format!(", {}", describe::bytes(file.bytes)));
        }
        if let Some(error) = &file.error {
            line.push_str(&format!(": {error}"));
        }
        note(&format!("file: {}", one_line(&line, LINE_CHARS_MAX)));
    }
    let more = (files.len().saturating_sub(AUDIT_LINES_MAX) as u64).saturating_add(dropped);
    if more > 0 {
        note(&format!("file: and {more} more uses"));
    }
    for request in requests {
        let end = match (&request.status, &request.denied, &request.error) {
            (Some(status), _, _) => {
                format!("{status}, {}, {} ms", describe::bytes(request.bytes), request.ms)
            }
            (None, Some(why), _) => format!("denied: {why}"),
            (None, None, Some(why)) => format!("failed: {why}"),
            (None, None, None) => "no answer".to_owned(),
        };
        note(&one_line(&format!("http: {} {}: {end}", request.method, request.url), LINE_CHARS_MAX));
    }
}

fn level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
        LogLevel::Stdout => "stdout",
        LogLevel::Stderr => "stderr",
    }
}

fn word(outcome: Ended) -> &'static str {
    match outcome {
        Ended::Ok => "ok",
        Ended::Error => "error",
        Ended::Denied => "denied",
        Ended::TimedOut => "timed out",
        Ended::Unknown => "unknown",
    }
}

/// A large number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn as_json(answer: &Answer) -> serde_json::Value {
    let completed = &answer.called.completed;
    let withheld = answer.asked.iter().filter(|one| !one.is_granted).map(|one| &one.ask);
    json!({
        "outcome": completed.outcome,
        "parts": completed.parts,
        "cut_bytes": completed.cut_bytes,
        "ms": completed.ms,
        "fuel": answer.called.used.fuel,
        "memory_bytes": answer.called.used.memory_bytes,
        "logs": answer.called.logs.as_ref().map(|logs| &logs.lines),
        "files": completed.audit,
        "http": completed.http,
        "not_granted": withheld.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), text);
        }
    }
}
