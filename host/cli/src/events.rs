//! `rewake events`: a session's journal, as it is. Loads nothing.

use std::mem::take;

use rewake_core::entry::Entry;
use rewake_core::fact::Fact;
use rewake_core::view;
use rewake_text::{json, one_line};

use crate::args::Events;
use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::journal::Journal;
use crate::out::{Out, Style};
use crate::stream;

/// Uses of files and requests of one call that are shown.
const USES_MAX: usize = 20;
/// What stands before them.
const INDENT: &str = "        ";
/// Characters of an entry's data that are shown.
const DATA_CHARS_MAX: usize = 160;

/// Prints entries.
pub(crate) async fn list(places: &Places, args: &Events) -> Result<Outcome, Failure> {
    let store = places.read().await?;
    let mut journal = Journal::after(store, args.id.clone(), args.after).await?;
    let mut out = Out::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0 && !out.is_closed() {
        let entries = journal.page().await.inspect_err(|_| {
            // What can be read is shown, whatever comes after it.
            let _ = out.flush();
        })?;
        if entries.is_empty() {
            break;
        }
        for entry in entries.iter().filter(|entry| args.wants(entry.fact.kind())) {
            if left == 0 {
                break;
            }
            left -= 1;
            if args.json {
                let event = view::event(&args.id, entry);
                out.json(&event)?;
            } else {
                for (style, line) in lines(entry) {
                    out.line(style, &line)?;
                }
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// An entry, and what was done during the call that it ends.
fn lines(entry: &Entry) -> Vec<(Style, String)> {
    let mut fact = entry.fact.clone();
    let (files, requests) = match &mut fact {
        Fact::ToolCompleted(body) => (take(&mut body.audit), take(&mut body.http)),
        Fact::HookVerdict(body) => (take(&mut body.audit), take(&mut body.http)),
        _ => Default::default(),
    };
    let mut lines = vec![(Style::Plain, line(entry, &fact))];
    let uses = describe::audit(&files, &requests);
    let shown = uses.iter().take(USES_MAX).map(|used| one_line(used, DATA_CHARS_MAX));
    lines.extend(shown.map(|used| (Style::Dim, format!("{INDENT}{used}"))));
    if uses.len() > USES_MAX {
        lines.push((Style::Dim, format!("{INDENT}and {} more: --json has all", uses.len() - USES_MAX)));
    }
    lines
}

/// `fact` is the entry's own, without what is shown beside it.
fn line(entry: &Entry, fact: &Fact) -> String {
    let data = fact.encode();
    let data = one_line(&json(&String::from_utf8_lossy(&data)), DATA_CHARS_MAX);
    let kind = one_line(entry.fact.kind(), DATA_CHARS_MAX);
    format!("{:>6}  {}  {:<10}  {kind:<17}  {data}", entry.seq, entry.at, stream::place(entry.place))
}

#[cfg(test)]
mod tests {
    use rewake_core::entry::Place;
    use rewake_core::fact::{FileAudit, FileOp, FileUsed, HookVerdict, TurnStarted};

    use super::*;
    use crate::stream::tests::entry;

    #[test]
    fn an_entry_is_a_line() {
        assert_eq!(
            lines(&entry(Place::turn(12), TurnStarted { commands: vec![3] })),
            [(
                Style::Plain,
                r#"     1  1970-01-01T00:00:00.000Z  turn_12     turn.started       {"commands":[3]}"#
                    .to_owned()
            )]
        );
    }

    #[test]
    fn what_a_call_did_stands_below_its_end_and_is_bounded() {
        let used = FileUsed {
            op: FileOp::Read,
            path: "/workspace/a\n\u{1b}[2J".into(),
            to: String::new(),
            detail: String::new(),
            times: 1,
            bytes: 1,
            digest: None,
            error: None,
        };
        let audit = FileAudit { uses: vec![used; USES_MAX + 2], dropped: 0 };
        let shown = lines(&entry(Place::step(1, 1), HookVerdict { audit, ..HookVerdict::default() }));
        assert_eq!(shown.len(), 1 + USES_MAX + 1);
        assert!(!shown[0].1.contains("audit"), "{}", shown[0].1);
        assert_eq!(shown[1].1, r"        read /workspace/a \u{1b}[2J, 1 byte");
        assert_eq!(shown[USES_MAX + 1].1, "        and 2 more: --json has all");
    }
}
