//! Diagnostics: so much of one turn is kept, anyone who says it; the rest is counted.

use super::Applied;
use crate::entry::Entry;
use crate::fact::LogLines;
use crate::limits;
use crate::session::{Logged, Session};

/// What of these lines a turn still has room for.
pub(super) fn within(session: &Session, turn: u32, mut logs: LogLines) -> LogLines {
    let Some(open) = session.turn.as_ref().filter(|open| open.number == turn) else { return logs };
    let mut logged = open.logged;
    let said = logs.lines.len();
    logs.lines.retain(|line| logged.take(line.text.len()));
    logs.dropped += (said - logs.lines.len()) as u64;
    logs
}

pub(crate) fn said(session: &mut Session, entry: &Entry, body: &LogLines) -> Applied {
    if let Some(open) = session.turn.as_mut().filter(|open| open.number == entry.place.turn) {
        open.logged.lines += body.lines.len();
        open.logged.bytes += body.lines.iter().map(|line| line.text.len()).sum::<usize>();
    }
    Ok(())
}

impl Logged {
    /// Counts a line, if there is room for it.
    fn take(&mut self, bytes: usize) -> bool {
        let fits =
            self.lines < limits::LOG_TURN_LINES_MAX && self.bytes + bytes <= limits::LOG_TURN_BYTES_MAX;
        if fits {
            self.lines += 1;
            self.bytes += bytes;
        }
        fits
    }
}
