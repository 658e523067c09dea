//! Reading back what was sent to a model, from the store alone. The blobs are untrusted: bounded while they are
//! read, and compared with the digests in the journal when they are together.

use rewake_core::codec;
use rewake_core::error::Corrupt;
use rewake_core::fact::{Fact, ModelStarted};
use rewake_core::ids::{Digest, Head, SessionId};
use rewake_core::limits::PAYLOAD_BYTES_MAX;
use rewake_store::{Store, StoreError};
use serde::Serialize;
use thiserror::Error;

use super::shape::{ListBlob, Message, MessageBlob, Options, OptionsBlob, Tool, ToolsBlob, request, unpack};
use super::through;
use rewake_sandbox::convert::request_digest;

/// Bytes of one request's blobs together.
const SENT_BYTES_MAX: usize = 4 * PAYLOAD_BYTES_MAX;
/// Entries looked at on each side for another request.
const NEAR_ENTRIES: u64 = 5_000;
/// Requests that are named on each side.
const NEAR_REQUESTS: usize = 3;

/// What was sent to a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// Seq of its `model.started`.
    pub seq: u64,
    /// The model, as the agent or the harness names it.
    pub model: String,
    /// The provider and its own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The system text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools that it was told of.
    pub tools: Vec<Tool>,
    /// Bounds and sampling options.
    pub options: Options,
    /// The messages.
    pub messages: Vec<Message>,
}

/// Why there is nothing to show.
#[derive(Debug, Error)]
pub enum NotSent {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal cannot be read there.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// The entry is there and asks no model, or there is none.
    #[error("entry {seq} is {is}, and no model.started{near}")]
    NoRequest {
        /// The entry.
        seq: u64,
        /// What it is.
        is: String,
        /// The nearest that are, in words.
        near: String,
    },
    /// An earlier version wrote it.
    #[error(
        "entry {seq} names its request by digest {digest} only: an earlier version of rewake wrote it, and kept no more"
    )]
    NotKept {
        /// The entry.
        seq: u64,
        /// The digest of the whole request.
        digest: Digest,
    },
    /// What is kept is not what the journal says.
    #[error("what entry {seq} names is not what was sent: {why}")]
    Spoiled {
        /// The entry.
        seq: u64,
        /// What is wrong.
        why: String,
    },
}

/// What was sent to a model, by the seq of its `model.started`, from the blobs of a project.
///
/// # Errors
/// If there is no such entry, or what it names is not there as it was.
pub async fn read(store: &dyn Store, project: &str, id: &SessionId, seq: u64) -> Result<Sent, NotSent> {
    let started = match at(store, id, seq).await? {
        Some(Fact::ModelStarted(started)) => started,
        other => {
            let is = other.map_or_else(|| "not there".to_owned(), |fact| fact.kind().to_owned());
            let near = near(&requests_near(store, id, seq).await?);
            return Err(NotSent::NoRequest { seq, is, near });
        }
    };
    of(store, project, seq, started).await
}

/// What an entry that is read already names.
pub(super) async fn of(
    store: &dyn Store,
    project: &str,
    seq: u64,
    started: ModelStarted,
) -> Result<Sent, NotSent> {
    Reader { store, project, seq, left_bytes: SENT_BYTES_MAX }.sent(started).await
}

async fn at(store: &dyn Store, id: &SessionId, seq: u64) -> Result<Option<Fact>, NotSent> {
    let Some(before) = seq.checked_sub(1) else { return Ok(None) };
    let prev = match before {
        0 => Head::default(),
        before => match store.read(id, before - 1, 1).await?.first() {
            Some(record) if record.seq == before => Head { seq: before, hash: record.hash },
            _ => return Ok(None),
        },
    };
    let records = store.read(id, before, 1).await?;
    let Some(record) = records.first() else { return Ok(None) };
    Ok(Some(codec::open(id, prev, record)?.fact))
}

/// The requests nearest to an entry: a few before it, and a few after it.
///
/// # Errors
/// If the store cannot be read.
pub(crate) async fn requests_near(
    store: &dyn Store,
    id: &SessionId,
    seq: u64,
) -> Result<Vec<u64>, StoreError> {
    const PAGE: u32 = 500;
    let head = store.head(id).await?.map_or(0, |head| head.seq);
    let from = seq.min(head).saturating_sub(NEAR_ENTRIES);
    let mut at = from;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    while at < seq.saturating_add(NEAR_ENTRIES).min(head) && after.len() < NEAR_REQUESTS {
        let records = store.read(id, at, PAGE).await?;
        let Some(last) = records.last() else { break };
        at = last.seq;
        for record in records.iter().filter(|record| record.kind == "model.started") {
            if record.seq < seq { before.push(record.seq) } else { after.push(record.seq) }
        }
    }
    after.truncate(NEAR_REQUESTS);
    let skip = before.len().saturating_sub(NEAR_REQUESTS);
    Ok(before.into_iter().skip(skip).chain(after).collect())
}

fn near(seqs: &[u64]) -> String {
    let seqs: Vec<String> = seqs.iter().map(u64::to_string).collect();
    match seqs.as_slice() {
        [] => "; no model was asked near it".to_owned(),
        [one] => format!("; the nearest is {one}"),
        many => format!("; the nearest are {}", many.join(", ")),
    }
}

/// Reads the blobs of one request.
struct Reader<'a> {
    store: &'a dyn Store,
    project: &'a str,
    seq: u64,
    left_bytes: usize,
}

impl Reader<'_> {
    async fn sent(&mut self, started: ModelStarted) -> Result<Sent, NotSent> {
        let Some(stored) = started.stored else {
            return Err(NotSent::NotKept { seq: self.seq, digest: started.request });
        };
        let system = match stored.system {
            Some(digest) => {
                let bytes = self.bytes("the system text", &digest).await?;
                Some(String::from_utf8(bytes).map_err(|_| self.spoiled("the system text is not text"))?)
            }
            None => None,
        };
        let tools = match stored.tools {
            Some(digest) => self.kept::<ToolsBlob>("the tools", &digest).await?,
            None => Vec::new(),
        };
        let options = match stored.options {
            Some(digest) => self.kept::<OptionsBlob>("the options", &digest).await?,
            None => Options::default(),
        };
        let digests = self.list(stored.list, started.messages as usize).await?;
        if through(digests.iter().copied()).last() != Some(&stored.through) {
            return Err(self.spoiled("the list of messages is another"));
        }
        let mut messages = Vec::new();
        for digest in &digests {
            messages.push(self.kept::<MessageBlob>("a message", digest).await?);
        }
        let whole = request(system.as_deref(), &tools, &options, &messages);
        if request_digest(&whole) != started.request {
            return Err(self.spoiled("together it has another digest"));
        }
        let ModelStarted { model, provider, .. } = started;
        Ok(Sent { seq: self.seq, model, provider, system, tools, options, messages })
    }

    /// The digests of all messages. Every list but an empty one adds a message, so that following them ends.
    async fn list(&mut self, newest: Digest, count: usize) -> Result<Vec<Digest>, NotSent> {
        let mut reversed: Vec<Digest> = Vec::new();
        let mut next = Some(newest);
        while let Some(digest) = next {
            let list = self.kept::<ListBlob>("a list of messages", &digest).await?;
            let is_empty = list.messages.is_empty() && (count > 0 || list.parent.is_some());
            if is_empty || reversed.len() + list.messages.len() > count {
                return Err(self.spoiled("its lists of messages do not have the number that the entry says"));
            }
            reversed.extend(list.messages.into_iter().rev());
            next = list.parent;
        }
        if reversed.len() != count {
            return Err(self.spoiled("its lists of messages do not have the number that the entry says"));
        }
        reversed.reverse();
        Ok(reversed)
    }

    async fn kept<K: super::shape::Kept>(
        &mut self,
        what: &str,
        digest: &Digest,
    ) -> Result<K::Content, NotSent> {
        let bytes = self.bytes(what, digest).await?;
        unpack::<K>(&bytes).map_err(|why| self.spoiled(format!("{what} {digest}: {why}")))
    }

    async fn bytes(&mut self, what: &str, digest: &Digest) -> Result<Vec<u8>, NotSent> {
        let Some(bytes) = self.store.blob(self.project, digest).await? else {
            return Err(self.spoiled(format!("{what} {digest} is not in this store")));
        };
        if Digest::of(&bytes) != *digest {
            return Err(self.spoiled(format!("{what} {digest} has another digest")));
        }
        match self.left_bytes.checked_sub(bytes.len()) {
            Some(left) => self.left_bytes = left,
            None => return Err(self.spoiled(format!("it has more than {SENT_BYTES_MAX} bytes"))),
        }
        Ok(bytes)
    }

    fn spoiled(&self, why: impl Into<String>) -> NotSent {
        NotSent::Spoiled { seq: self.seq, why: why.into() }
    }
}
