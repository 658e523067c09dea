//! Runs the cases that need no session: a call of a tool, and an event that a hook is asked about.

use rewake_core::fact::{Decision, HookVerdict, LogLines, ToolCompleted};
use rewake_runtime::host::standalone::{Answered, Standalone, StandaloneGrants};
use rewake_toml::quote;
use rewake_wire::{Outcome, Part};
use serde_json::Value;

use super::bed::{Bed, check_files};
use super::cases::{CallCase, Case, Decided, HookCase, Returned, Verdict};
use super::report::Finding;
use super::transcript::{cut, whole_text};
use super::{Options, Suite};

/// Lines of diagnostics that a failure shows.
const LOG_LINES_MAX: usize = 20;

/// Runs a `[[call]]`.
pub(super) async fn call(suite: &Suite, options: &Options, case: &Case, call: &CallCase) -> Vec<Finding> {
    let (bed, standalone) = match ready(suite, options, case).await {
        Ok(ready) => ready,
        Err(finding) => return vec![finding],
    };
    if let Err(invalid) = standalone.tool(&call.tool) {
        return vec![Finding::of(invalid.to_string())];
    }
    let called = standalone.call(&call.tool, &call.args.to_string()).await;
    let mut findings = returned(&call.expect, &called.completed);
    findings.extend(check_files(&bed.given(), &call.files));
    with_logs(findings, called.logs.as_ref())
}

/// Runs a `[[hook]]`.
pub(super) async fn hook(suite: &Suite, options: &Options, case: &Case, hook: &HookCase) -> Vec<Finding> {
    let (bed, standalone) = match ready(suite, options, case).await {
        Ok(ready) => ready,
        Err(finding) => return vec![finding],
    };
    let answers = match standalone.ask(&hook.component, &hook.fired).await {
        Ok(answers) => answers,
        Err(invalid) => return vec![Finding::of(invalid.to_string())],
    };
    let mut findings = answered(&hook.expect, &answers);
    findings.extend(check_files(&bed.given(), &hook.files));
    with_logs(findings, answers.iter().find_map(|answer| answer.logs.as_ref()))
}

async fn ready(suite: &Suite, options: &Options, case: &Case) -> Result<(Bed, Standalone), Finding> {
    let bed = Bed::make(&options.ground, &case.setting, suite)?;
    let host = bed.host()?;
    let standalone = host.standalone(suite.bundle(), &StandaloneGrants::Asked, &bed.given()).await;
    let standalone = standalone.map_err(|error| Finding::of(error.to_string()))?;
    Ok((bed, standalone))
}

/// Anyone who looks for a cause wants to know what the guest said beside it.
fn with_logs(mut findings: Vec<Finding>, logs: Option<&LogLines>) -> Vec<Finding> {
    if let (Some(last), Some(logs)) = (findings.last_mut(), logs) {
        let lines = logs.lines.iter().take(LOG_LINES_MAX);
        last.diff.extend(lines.map(|line| format!("| {}", line.text)));
    }
    findings
}

fn returned(expect: &Returned, completed: &ToolCompleted) -> Vec<Finding> {
    let text = whole_text(&completed.parts);
    let mut findings = Vec::new();
    if !expect.error.is_empty() {
        if completed.outcome == Outcome::Ok {
            return vec![Finding::of(format!("it must fail, and it returns:\n{}", cut(&text)))];
        }
        findings.extend(missing("its error", &expect.error, &text));
        return findings;
    }
    if completed.outcome != Outcome::Ok {
        return vec![Finding::of(format!("it fails: {}", cut(&text)))];
    }
    if let Some(expected) = &expect.text {
        let line = |text: &str| format!("{}\n", text.trim_end_matches('\n'));
        let (expected, came) = (line(expected), line(&text));
        if expected != came {
            findings.push(Finding::differs("it returns another text", &expected, &came));
        }
    }
    findings.extend(missing("what it returns", &expect.contains, &text));
    if let Some(expected) = &expect.json {
        match value(&completed.parts, &text) {
            Some(came) if came == *expected => {}
            Some(came) => findings.push(Finding::differs(
                "it returns another value",
                &format!("{expected:#}\n"),
                &format!("{came:#}\n"),
            )),
            None => findings.push(Finding::of(format!("it returns no JSON:\n{}", cut(&text)))),
        }
    }
    findings
}

/// The value that a tool returns: a part of JSON, else its text as JSON.
fn value(parts: &[Part], text: &str) -> Option<Value> {
    let json = parts.iter().find_map(|part| match part {
        Part::Json { json } => Some(json.as_str()),
        _ => None,
    });
    serde_json::from_str(json.unwrap_or(text)).ok()
}

fn missing(what: &str, pieces: &[String], text: &str) -> Vec<Finding> {
    let missing = pieces.iter().filter(|piece| !text.contains(piece.as_str()));
    missing
        .map(|piece| Finding::of(format!("{what} does not hold {piece:?}; it is:\n{}", cut(text))))
        .collect()
}

fn answered(expect: &Verdict, answers: &[Answered]) -> Vec<Finding> {
    let verdict = answers.iter().map(|answer| &answer.verdict).max_by_key(|verdict| weight(verdict.decision));
    let decided = verdict.map_or(Decided::Unasked, |verdict| word(verdict.decision));
    let mut findings = Vec::new();
    if let Some(wanted) = expect.decision.filter(|wanted| *wanted != decided) {
        let why = verdict.and_then(|verdict| verdict.reason.as_deref().or(verdict.error.as_deref()));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let (wanted, decided) = (quote(wanted.word()), quote(decided.word()));
        findings.push(Finding::of(format!("the verdict is {decided}; it must be {wanted}{why}")));
    }
    let all = |text: fn(&HookVerdict) -> Option<&String>| -> String {
        let texts: Vec<&str> =
            answers.iter().filter_map(|answer| text(&answer.verdict)).map(String::as_str).collect();
        texts.join("\n")
    };
    findings.extend(missing("its reason", &expect.reason, &all(|verdict| verdict.reason.as_ref())));
    findings.extend(missing("its context", &expect.context, &all(|verdict| verdict.context.as_ref())));
    let end_turn = all(|verdict| verdict.changes.end_turn.as_ref());
    findings.extend(missing("its reason to end the turn", &expect.end_turn, &end_turn));
    let error = all(|verdict| verdict.error.as_ref());
    findings.extend(missing("its error", &expect.error, &error));
    if expect.error.is_empty() && !error.is_empty() {
        findings.push(Finding::of(format!("it fails: {error}")));
    }
    if let Some(title) = &expect.title {
        let came = all(|verdict| verdict.changes.title.as_ref());
        if came != *title {
            findings.push(Finding::of(format!("the title is {came:?}; it must be {title:?}")));
        }
    }
    if let Some(input) = &expect.input {
        let came = all(|verdict| verdict.changes.input.as_ref());
        match serde_json::from_str::<Value>(&came) {
            Ok(came) if came == *input => {}
            Ok(came) => findings.push(Finding::differs(
                "it makes another input",
                &format!("{input:#}\n"),
                &format!("{came:#}\n"),
            )),
            Err(_) => findings.push(Finding::of("it does not replace the input")),
        }
    }
    findings
}

/// What outweighs what, as over several hooks.
fn weight(decision: Decision) -> u8 {
    match decision {
        Decision::None => 0,
        Decision::Allow => 1,
        Decision::Ask => 2,
        Decision::Block => 3,
        Decision::Deny => 4,
    }
}

fn word(decision: Decision) -> Decided {
    match decision {
        Decision::None => Decided::None,
        Decision::Allow => Decided::Allow,
        Decision::Ask => Decided::Ask,
        Decision::Block => Decided::Block,
        Decision::Deny => Decided::Deny,
    }
}

#[cfg(test)]
mod tests;
