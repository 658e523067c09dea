//! `rewake events`: a session's journal, as it is. Loads nothing.

use rewake_core::entry::Entry;
use rewake_core::view;

use crate::args::Events;
use crate::data::Places;
use crate::exit::{Failure, Outcome};
use crate::journal::Journal;
use crate::out::{Out, Style};
use crate::stream;
use crate::text::{json_line, one_line};

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
                out.raw(&json_line(&event).map_err(|error| Failure::io("writing JSON", error))?)?;
            } else {
                out.line(Style::Plain, &line(entry))?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn line(entry: &Entry) -> String {
    let data = entry.fact.encode();
    let data = one_line(&String::from_utf8_lossy(&data), DATA_CHARS_MAX);
    let kind = one_line(entry.fact.kind(), DATA_CHARS_MAX);
    format!("{:>6}  {}  {:<10}  {kind:<17}  {data}", entry.seq, entry.at, stream::place(entry.place))
}

#[cfg(test)]
mod tests {
    use rewake_core::entry::Place;
    use rewake_core::fact::TurnStarted;

    use super::*;
    use crate::stream::tests::entry;

    #[test]
    fn an_entry_is_a_line() {
        assert_eq!(
            line(&entry(Place::turn(12), TurnStarted { commands: vec![3] })),
            r#"     1  1970-01-01T00:00:00.000Z  turn_12     turn.started       {"commands":[3]}"#
        );
    }
}
