//! Reading a session's journal, verified entry by entry, and what it comes to. Writes nothing and loads
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rewake_core::codec;
use rewake_core::entry::Entry;
use rewake_core::error::Corrupt;
use rewake_core::fact::{Fact, Question};
use rewake_core::ids::{Head, SessionId};
use rewake_core::session::Session;
use rewake_runtime::{HostError, host};
use rewake_store::{Store, StoreError};
use rewake_wire::Fault;
use tokio::time::{Instant, sleep_until};

use crate::data::Places;
use crate::describe;
use crate::exit::Failure;
use crate::out::note;

/// Entries read at once.
const PAGE: u32 = 500;
/// How often who follows a session reads what came: as often as somebody can see it.
const PACE: Duration = Duration::from_millis(5);

/// A place in a session's journal, and what follows it.
pub(crate) struct Journal {
    store: Arc<dyn Store>,
    id: SessionId,
    head: Head,
    /// When a page was read last.
    read_at: Option<Instant>,
}

impl Journal {
    /// From the first entry.
    pub(crate) fn start(store: Arc<dyn Store>, id: SessionId) -> Journal {
        Journal::at(store, id, Head::default())
    }

    /// From an entry that is known.
    pub(crate) fn at(store: Arc<dyn Store>, id: SessionId, head: Head) -> Journal {
        Journal { store, id, head, read_at: None }
    }

    /// From the entry of a number; the end, if there are not so many.
    pub(crate) async fn after(store: Arc<dyn Store>, id: SessionId, seq: u64) -> Result<Journal, Failure> {
        let end = store.head(&id).await?.ok_or_else(|| not_there(&id))?;
        let head = match seq {
            0 => Head::default(),
            seq if seq >= end.seq => end,
            seq => match store.read(&id, seq - 1, 1).await?.first() {
                Some(record) if record.seq == seq => Head { seq, hash: record.hash },
                _ => return Err(corrupt(&id, Corrupt::at(seq, "it is missing"))),
            },
        };
        Ok(Journal::at(store, id, head))
    }

    /// The newest entry that was read.
    pub(crate) fn seq(&self) -> u64 {
        self.head.seq
    }

    /// Waits until a page may be read again by who follows a session that runs in this process: to be woken for every
    /// entry, and to read it, would take from the session.
    pub(crate) async fn pace(&self) {
        if let Some(read_at) = self.read_at {
            sleep_until(read_at + PACE).await;
        }
    }

    /// The next entries; none at the end. One that is broken is a failure once all before it were given.
    pub(crate) async fn page(&mut self) -> Result<Vec<Entry>, Failure> {
        self.read_at = Some(Instant::now());
        let mut entries = Vec::new();
        let mut records = self.store.read(&self.id, self.head.seq, PAGE).await?;
        if records.is_empty() {
            let told = self.store.head(&self.id).await?.unwrap_or_default();
            if told.seq > self.head.seq {
                // They were appended just now, or are gone.
                records = self.store.read(&self.id, self.head.seq, PAGE).await?;
            }
            if records.is_empty() && told.seq >= self.head.seq && told != self.head {
                return Err(corrupt(&self.id, Corrupt::at_end(self.head, told)));
            }
        }
        for record in records {
            match codec::open(&self.id, self.head, &record) {
                Ok(entry) => {
                    self.head = Head { seq: entry.seq, hash: entry.hash };
                    entries.push(entry);
                }
                Err(_) if !entries.is_empty() => break,
                Err(broken) => return Err(corrupt(&self.id, broken)),
            }
        }
        Ok(entries)
    }
}

/// What a journal comes to.
pub(crate) struct Standing {
    /// The fold, as far as the journal can be read.
    pub(crate) session: Session,
    /// The open questions, in the order of their ids.
    pub(crate) questions: Vec<Question>,
    /// Why it cannot be read to its end.
    pub(crate) corrupt: Option<Corrupt>,
}

impl Standing {
    /// Reads what a session's journal comes to, as loading does.
    pub(crate) async fn read(store: Arc<dyn Store>, id: &SessionId) -> Result<Standing, Failure> {
        let host::Standing { session, corrupt } = host::standing(store.as_ref(), id).await?;
        let questions = open_questions(store, &session).await?;
        Ok(Standing { session, questions, corrupt })
    }

    /// The same, if it can be read to its end.
    pub(crate) async fn whole(store: Arc<dyn Store>, id: &SessionId) -> Result<Standing, Failure> {
        let mut standing = Standing::read(store, id).await?;
        match standing.corrupt.take() {
            Some(broken) => Err(corrupt(id, broken)),
            None => Ok(standing),
        }
    }
}

/// The open questions. The fold knows their ids, and that the open turn asked them.
async fn open_questions(store: Arc<dyn Store>, session: &Session) -> Result<Vec<Question>, Failure> {
    let Some(turn) = session.turn.as_ref().filter(|_| !session.questions.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut open = BTreeMap::new();
    let mut journal = Journal::after(store, session.id.clone(), turn.first_seq - 1).await?;
    while journal.seq() < session.head.seq {
        for entry in journal.page().await? {
            if let Fact::QuestionAsked(asked) = entry.fact
                && session.questions.contains(&asked.question.id)
            {
                open.insert(asked.question.id.clone(), asked.question);
            }
        }
    }
    Ok(open.into_values().collect())
}

/// The failure of a session that is not here.
pub(crate) fn not_there(id: &SessionId) -> Failure {
    StoreError::NotFound(format!("session {id}")).into()
}

/// The failure of a journal that cannot be replayed.
pub(crate) fn corrupt(id: &SessionId, corrupt: Corrupt) -> Failure {
    Failure::Corrupt { session: id.to_string(), corrupt }
}

/// A session that takes no step: its report, and the way out.
pub(crate) fn faulted(places: &Places, id: &SessionId, fault: Fault) -> Failure {
    for line in describe::fault(&fault) {
        note(&line);
    }
    if fault.reason == "corrupt" {
        note(&format!("`rewake verify {id}` shows which entries are intact"));
    }
    note(&format!("once its cause is gone, let it try again: {}", places.hint(&format!("clear-fault {id}"))));
    HostError::Faulted { session: id.clone(), fault: Box::new(fault) }.into()
}
