//! What waits in a session's inbox: `edit` and `cancel`, and what `show` lists of it. Loads no session: whoever
//! runs it finds what was sent, and else anyone who continues with it.

use rewake_core::command::{Command, Row};
use rewake_core::ids::SessionId;
use rewake_core::session::Session;
use rewake_core::view;
use rewake_store::{Inbox as _, Sessions as _};
use rewake_text::one_line;
use rewake_wire::Part;

use crate::args::About;
use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::journal::not_there;
use crate::out::note;
use crate::sending::{insist, read_message, sender};

/// Characters of a message that are listed.
const TEXT_CHARS_MAX: usize = 160;
/// Messages that are listed.
const LINES_MAX: usize = 50;

/// `rewake edit`.
pub(crate) async fn edit(places: &Places, about: &About, text: String) -> Result<Outcome, Failure> {
    let parts = vec![Part::text(read_message(text)?)];
    send(places, about, Command::Edit { target: about.n, parts }).await?;
    note(&format!("message {} of {} says that from now on", about.n, about.id));
    Ok(Outcome::Done)
}

/// `rewake cancel`.
pub(crate) async fn cancel(places: &Places, about: &About) -> Result<Outcome, Failure> {
    send(places, about, Command::Cancel { target: about.n }).await?;
    note(&format!("canceled message {} of {}", about.n, about.id));
    Ok(Outcome::Done)
}

async fn send(places: &Places, about: &About, command: Command) -> Result<(), Failure> {
    // Before anything is opened for writing, so that a wrong id leaves no trace.
    let store = places.read_to_write().await?;
    store.session(&about.id).await?.ok_or_else(|| not_there(&about.id))?;
    let store = places.write().await?;
    let sent = insist(&about.id, &command, None, async |key| {
        Ok(store.send(&about.id, sender(), command.clone(), Some(key)).await?)
    })
    .await;
    store.close().await;
    sent?;
    Ok(())
}

/// What waits, in the order in which it is told, and what can be done about it.
pub(crate) fn lines(places: &Places, id: &SessionId, session: &Session, rows: &[Row]) -> Vec<String> {
    let waiting = view::waiting(session, rows);
    let mut lines: Vec<String> = waiting.iter().take(LINES_MAX).map(line).collect();
    if let Some(more @ 1..) = waiting.len().checked_sub(LINES_MAX) {
        lines.push(format!("and {more} more"));
    }
    if !lines.is_empty() {
        for command in ["edit ID N TEXT", "cancel ID N", "promote ID N"] {
            lines.push(format!("  {}", places.hint(&command.replacen("ID", id.as_str(), 1))));
        }
    }
    let is_control = |row: &&Row| !matches!(row.command, Command::Message { .. });
    let is_new = |row: &&Row| !session.taken.contains(row.n);
    let others = rows.iter().filter(is_control).filter(is_new).count() as u64;
    if others > 0 {
        lines.push(format!("{} not accepted yet", describe::count(others, "control", "controls")));
    }
    lines
}

fn line(one: &view::Waiting) -> String {
    let marks = match (one.is_promoted, one.is_edited) {
        (true, true) => " (next, edited)",
        (true, false) => " (next)",
        (false, true) => " (edited)",
        (false, false) => "",
    };
    let sender = one_line(&describe::sender(&one.sender), 80);
    format!("{} {sender}{marks}: {}", one.n, one_line(&describe::parts(&one.parts), TEXT_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use rewake_wire::Sender;

    use super::*;

    #[test]
    fn what_waits_is_listed_with_its_number() {
        let one = view::Waiting {
            n: 3,
            sender: Sender::Operator("ann".into()),
            parts: vec![Part::text("Look at\nthis.")],
            is_edited: true,
            is_promoted: false,
        };
        assert_eq!(line(&one), "3 ann (edited): Look at this.");
        assert_eq!(line(&view::Waiting { is_promoted: true, ..one }), "3 ann (next, edited): Look at this.");
    }
}
