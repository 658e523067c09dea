//! What is sent to models, as it is kept (journal.md R14): each message, the system text, the tools and the
//! options are blobs; a list of messages is a blob that names an earlier list and what was added to it. So a
//! session's requests take what is new in them, however long they are. Cuts and hashes; the entry that names the
//! blobs is written elsewhere, in one transaction with them.
//!
//! How lists are cut is no part of what a replay compares: that is the digest of the whole request.

mod differing;
mod read;
mod shape;
#[cfg(test)]
mod tests;

use rewake_bindings::model::Request;
use rewake_core::asked::{Asked, List};
use rewake_core::fact::Stored;
use rewake_core::ids::Digest;
use rewake_store::Blob;
use serde::Serialize;

pub use self::differing::difference;
pub use self::read::{NotSent, Sent, read};
pub use self::shape::{Content, Message, Options, Role, Tool};
use self::shape::{ListBlob, MessageBlob, OptionsBlob, ToolsBlob};

/// A request, cut into what is kept of it.
pub struct Pieces {
    /// The digests that the entry names.
    pub stored: Stored,
    /// What the first n messages come to, from none of them to all.
    through: Vec<Digest>,
    /// What is not in the store, as far as is known: what is there already is not written again.
    pub blobs: Vec<Blob>,
}

impl Pieces {
    /// Cuts a request; `asked` knows which lists the store holds.
    pub fn of(request: &Request, asked: &Asked) -> Pieces {
        let messages: Vec<Blob> =
            request.messages.iter().map(|message| blob(&MessageBlob::of(message))).collect();
        let through = through(messages.iter().map(|message| message.digest));
        let longest = asked.longest(|count| through.get(count as usize).copied());
        let mut blobs = Vec::new();
        let list = list(messages, longest, &mut blobs);
        let newest = asked.newest();
        let mut keep = |blob: Option<Blob>, before: Option<Digest>| {
            let blob = blob?;
            let digest = blob.digest;
            if before != Some(digest) {
                blobs.push(blob);
            }
            Some(digest)
        };
        let system = request.system.as_ref().map(|system| Blob::of(system.clone().into_bytes()));
        let tools = (!request.tools.is_empty()).then(|| blob(&ToolsBlob::of(&request.tools)));
        let stored = Stored {
            system: keep(system, newest.and_then(|stored| stored.system)),
            tools: keep(tools, newest.and_then(|stored| stored.tools)),
            options: keep(
                OptionsBlob::of(request).map(|options| blob(&options)),
                newest.and_then(|stored| stored.options),
            ),
            list,
            through: through.last().copied().unwrap_or_default(),
        };
        Pieces { stored, through, blobs }
    }

    /// What the first so many messages come to; none, if there are not so many.
    pub fn through(&self, messages: u32) -> Option<Digest> {
        self.through.get(messages as usize).copied()
    }
}

/// The blob of a list that goes on from another one. Its messages, and it itself, are put to what is to be kept.
fn list(messages: Vec<Blob>, longest: Option<List>, blobs: &mut Vec<Blob>) -> Digest {
    let known = longest.map_or(0, |list| list.messages as usize);
    if let Some(same) = longest.filter(|_| known == messages.len()) {
        return same.blob;
    }
    let added: Vec<Blob> = messages.into_iter().skip(known).collect();
    let list = blob(&ListBlob::new(
        longest.map(|list| list.blob),
        added.iter().map(|message| message.digest).collect(),
    ));
    let digest = list.digest;
    blobs.extend(added);
    blobs.push(list);
    digest
}

/// What the digests of messages come to: after none of them, after the first, and so on.
fn through(messages: impl Iterator<Item = Digest>) -> Vec<Digest> {
    let mut all = vec![Digest::default()];
    for message in messages {
        let before = all[all.len() - 1];
        all.push(Digest::of_parts([before.0.as_slice(), &message.0]));
    }
    all
}

/// Fields stand in the order of their declaration, so that the same content is always the same bytes.
fn blob(value: &impl Serialize) -> Blob {
    Blob::of(serde_json::to_vec(value).expect("plain data: text, numbers and bytes as text"))
}
