//! What is shown first of a session: the end of what was said before, so that one can go on with it.

use std::sync::Arc;
use std::time::Instant;

use rewake_core::fact::Fact;
use rewake_store::Store;

use super::Talk;
use super::row::Row;
use crate::exit::Failure;
use crate::journal::Journal;
use crate::out::Style;
use crate::stream::going_on;

/// Entries that are looked through, from the end.
const ENTRIES_MAX: u64 = 2_000;
/// Turns that are shown.
const TURNS_MAX: usize = 3;
/// Rows that are shown.
const ROWS_MAX: usize = 200;

impl Talk<'_> {
    /// Shows the newest turns of a session that was there, and what it continues with.
    pub(super) async fn remember(&mut self, is_new: bool) -> Result<(), Failure> {
        let head = self.session.head.seq;
        let from = head.saturating_sub(ENTRIES_MAX);
        let store: Arc<dyn Store> = self.opened.host.store().clone();
        let mut journal = Journal::after(store, self.id.clone(), from).await?;
        let now = Instant::now();
        let mut rows: Vec<Row> = Vec::new();
        let mut turns = Vec::new();
        while journal.seq() < head {
            for entry in journal.page().await?.iter().filter(|entry| entry.seq <= head) {
                if matches!(entry.fact, Fact::UserMessage(_)) {
                    turns.push(rows.len());
                }
                self.status.entry(entry, now);
                self.transcript.entry(entry, now);
                rows.extend(self.transcript.take());
            }
        }
        self.status.rests();
        if is_new {
            return Ok(());
        }
        let first = turns.len().checked_sub(TURNS_MAX).map_or(0, |at| turns[at]);
        let first = first.max(rows.len().saturating_sub(ROWS_MAX));
        if first > 0 || from > 0 {
            let events = self.places.hint(&format!("events {}", self.id));
            self.transcript.note(Style::Dim, &format!("… what was before: `{events}`"));
        }
        self.transcript.keep(rows.split_off(first));
        self.transcript.note(Style::Dim, &going_on(&self.id, &self.session));
        Ok(())
    }
}
