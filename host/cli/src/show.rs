//! `rewake show`: one session, from its row, its inbox and its journal. Loads nothing.

use rewake_core::fact::{AgentPin, ComponentPin, Created, Provider, ToolPin};
use rewake_core::ids::SessionId;
use rewake_core::session::Session;
use rewake_runtime::host::{self, Granted, Unvouched};
use rewake_sandbox::workspace;
use rewake_store::{Inbox as _, Sessions as _};
use rewake_text::one_line;
use rewake_wire::SessionSummary;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::journal::{Standing, not_there};
use crate::out::{Out, Style, table};
use crate::queued;
use crate::shell::shell_word;

/// Characters of a value.
const VALUE_CHARS_MAX: usize = 400;

/// A label and its values, a line each.
type Section = (&'static str, Vec<String>);

/// Shows a session.
pub(crate) async fn show(places: &Places, id: &SessionId) -> Result<Outcome, Failure> {
    let store = places.read().await?;
    let summary = store.session(id).await?.ok_or_else(|| not_there(id))?;
    let rows = store.pending(id).await?;
    // A session or rules that cannot be read are reported below or by `doctor`.
    let granted = host::granted(store.as_ref(), &places.rules_file(), id).await.unwrap_or_default();
    let standing = Standing::read(store, id).await?;
    let mut sections = vec![
        ("session", vec![summary.id.clone()]),
        ("title", summary.title.iter().cloned().collect()),
        ("status", vec![summary.status.as_str().to_owned()]),
    ];
    sections.extend(broken(places, id, &summary, &standing));
    sections.extend(doing(places, id, &standing, summary.fault.is_some()));
    sections.push(("inbox", queued::lines(places, id, &standing.session, &rows)));
    sections.push(("created", vec![created_line(&summary, standing.session.created.as_deref())]));
    sections.push(("updated", vec![summary.updated_at.clone()]));
    let head = standing.session.head;
    sections.push(("entries", vec![format!("{}, head {}", head.seq, head.hash)]));
    sections.push(("turns", vec![summary.turns.to_string()]));
    sections.push(("usage", vec![describe::usage(&standing.session.usage)]));
    sections.push(("spent", vec![describe::spent(&standing.session)]));
    sections.push(("workspace", vec![workspace::path(&places.data, id).display().to_string()]));
    if let Some(created) = standing.session.created.as_deref() {
        sections.extend(pins(created));
        sections.extend(approval(&standing.session, created));
        sections.push(("unapproved", unvouched(places, id, &granted)));
    }
    let mut out = Out::new();
    let width = sections.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, values) in &sections {
        for (at, value) in values.iter().enumerate() {
            let style = if matches!(*label, "fault" | "journal") { Style::Bad } else { Style::Plain };
            let label = if at == 0 { *label } else { "" };
            out.line(style, &format!("{label:width$}  {}", keep_indent(value)))?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// One line, with the blanks that it begins with.
fn keep_indent(value: &str) -> String {
    let text = value.trim_start_matches(' ');
    format!("{}{}", " ".repeat(value.len() - text.len()), one_line_keeping_columns(text))
}

/// Tables are aligned with blanks, so only what ends a line goes.
fn one_line_keeping_columns(text: &str) -> String {
    let text = rewake_text::plain(text).replace(['\n', '\t'], " ");
    text.chars().take(VALUE_CHARS_MAX).collect()
}

/// Why it takes no step here, or cannot be read.
fn broken(places: &Places, id: &SessionId, summary: &SessionSummary, standing: &Standing) -> Vec<Section> {
    let mut sections = Vec::new();
    if let Some(fault) = &summary.fault {
        let mut lines = describe::fault(fault);
        lines.push(format!("let it try again: {}", places.hint(&format!("clear-fault {id}"))));
        sections.push(("fault", lines));
    }
    if let Some(corrupt) = &standing.corrupt {
        let line = format!("cannot be replayed: {corrupt}; below is the state before that entry");
        sections.push(("journal", vec![line]));
    }
    sections
}

/// What is open, and what it waits for.
fn doing(places: &Places, id: &SessionId, standing: &Standing, is_faulted: bool) -> Vec<Section> {
    let session = &standing.session;
    let mut sections = Vec::new();
    if let Some(turn) = &session.turn {
        let mut line = format!("turn {}", turn.number);
        if let Some(step) = &turn.step {
            let entries = describe::count(step.entries.len() as u64, "entry", "entries");
            line.push_str(&format!(", step {} with {entries}", step.number));
        }
        if !session.calls.is_empty() {
            let calls = describe::count(session.calls.len() as u64, "call", "calls");
            line.push_str(&format!(", {calls} without an end"));
        }
        sections.push(("open", vec![line]));
        match &turn.waiting {
            Some(on) => {
                let mut lines = vec![describe::wait(on)];
                for question in &standing.questions {
                    lines.push(describe::question(question));
                    let answer = format!("answer {id} {} VALUE", shell_word(&question.id));
                    lines.push(format!("  {}", places.hint(&answer)));
                }
                sections.push(("waits for", lines));
            }
            // One that is broken does not.
            None if standing.corrupt.is_none() && !is_faulted => {
                sections.push(("resume", vec![places.resume(id)]));
            }
            None => {}
        }
    }
    sections
}

/// Who approved what, what was asked and not granted, and what the operator's rules have left since.
fn approval(session: &Session, created: &Created) -> Vec<Section> {
    let approved = created.bundles.iter().filter_map(|pin| {
        let by = pin.approved_by.as_deref()?;
        Some(format!("{}, for this session, by {}", pin.name, one_line(by, 80)))
    });
    let narrowed = session.grants.iter().filter_map(|(index, now)| {
        let pin = created.components.get(*index as usize)?;
        let left = match now.describe().as_slice() {
            [] => "nothing".to_owned(),
            left => left.join(", "),
        };
        (*now != pin.grants).then(|| format!("{} has now {left}", pin.full_name()))
    });
    vec![
        ("approved", approved.collect()),
        ("not granted", crate::grants::withheld(created)),
        ("narrowed", narrowed.collect()),
    ]
}

/// What another machine approved, and this one has not.
fn unvouched(places: &Places, id: &SessionId, granted: &Granted) -> Vec<String> {
    let again = places.hint(&format!("grant {id}"));
    let line = |one: &Unvouched| format!("{}, on this machine; `{again}` approves it", one.bundle);
    granted.unvouched.iter().map(line).collect()
}

fn created_line(summary: &SessionSummary, created: Option<&Created>) -> String {
    match created {
        Some(created) => format!("{} by {}", summary.created_at, one_line(&created.origin, 80)),
        None => summary.created_at.clone(),
    }
}

/// What it runs with.
fn pins(created: &Created) -> Vec<Section> {
    let component = |index: u32| {
        created.components.get(index as usize).map_or_else(|| "?".to_owned(), ComponentPin::full_name)
    };
    let provider = |tool: &ToolPin| match (tool.component, tool.by) {
        (Some(index), _) => component(index),
        (None, by) => by.map_or("?", Provider::as_str).to_owned(),
    };
    let AgentPin { name, model, harness, max_steps, .. } = &created.agent;
    let mut agent = format!("{name}, model {model}, harness {}", component(*harness));
    if let Some(max) = max_steps {
        agent.push_str(&format!(", at most {} a turn", describe::count(u64::from(*max), "step", "steps")));
    }
    let bundles = created.bundles.iter();
    let bundles =
        bundles.map(|pin| vec![pin.name.clone(), pin.version.clone(), format!("blake3:{}", pin.digest)]);
    let components = created.components.iter();
    let components =
        components.map(|pin| vec![pin.full_name(), pin.kind.to_string(), format!("blake3:{}", pin.digest)]);
    let tools =
        created.tools.iter().map(|pin| vec![pin.name.clone(), pin.effect.as_str().to_owned(), provider(pin)]);
    let hooks = created.hooks.iter().map(|pin| {
        let on_error = match pin.on_error {
            rewake_core::fact::OnError::Deny => "denies",
            rewake_core::fact::OnError::Allow => "allows",
        };
        let matcher = if pin.matcher.is_empty() { "all" } else { &pin.matcher };
        vec![
            pin.event.as_str().to_owned(),
            matcher.to_owned(),
            component(pin.component),
            format!("{on_error} if it fails{}", if pin.operator { ", the operator's" } else { "" }),
        ]
    });
    let rows = |cells: Vec<Vec<String>>| {
        let short = |row: Vec<String>| row.iter().map(|cell| one_line(cell, 120)).collect();
        table(&cells.into_iter().map(short).collect::<Vec<Vec<String>>>())
    };
    vec![
        ("agent", vec![agent]),
        ("bundles", rows(bundles.collect())),
        ("components", rows(components.collect())),
        ("tools", rows(tools.collect())),
        ("hooks", rows(hooks.collect())),
        ("grants", describe::grants(created)),
    ]
}
