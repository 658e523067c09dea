//! Entries as they are stored: columns, payload, and the hash chain over them (journal.md R0).
//! Seals drafts, opens records, and verifies; reads and writes nothing itself.

use rewake_wire::Actor;

use crate::entry::{Draft, Entry, Place};
use crate::error::{Corrupt, Refusal};
use crate::fact::Fact;
use crate::ids::{Digest, Head, SessionId, Timestamp};
use crate::limits;

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number in the session, from 1 without gaps.
    pub seq: u64,
    /// The lease under which it was appended.
    pub epoch: u64,
    /// The fact's kind.
    pub kind: String,
    /// Version of the payload's shape.
    pub version: u32,
    /// Where it belongs.
    pub place: Place,
    /// When, by the store's clock.
    pub at: Timestamp,
    /// Whose doing it is: JSON text, hashed as stored.
    pub actor: String,
    /// Digest of salt and payload.
    pub payload_digest: Digest,
    /// Chain hash.
    pub hash: Digest,
    /// Salt and bytes; none once retention has removed them.
    pub payload: Option<Payload>,
}

/// A payload and the salt that keeps its digest from telling what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// 16 random bytes.
    pub salt: [u8; 16],
    /// JSON, hashed as stored and never re-encoded.
    pub bytes: Vec<u8>,
}

impl Payload {
    /// `blake3(salt ‖ payload)`.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.salt);
        hasher.update(&self.bytes);
        Digest(*hasher.finalize().as_bytes())
    }
}

/// What sealing needs and the core does not make up.
#[derive(Clone, Copy, Debug)]
pub struct Seal {
    /// The lease's epoch.
    pub epoch: u64,
    /// The store's time.
    pub at: Timestamp,
    /// 16 random bytes, new for every entry.
    pub salt: [u8; 16],
}

/// Seals a draft as the entry after `head`.
///
/// # Errors
/// If its payload or the journal would be over a limit.
pub fn seal(session: &SessionId, head: Head, seal: Seal, draft: Draft) -> Result<(Entry, Record), Refusal> {
    let bytes = draft.fact.encode();
    if bytes.len() > limits::PAYLOAD_BYTES_MAX {
        return Err(Refusal::Limit {
            what: "bytes of an entry's payload",
            got: bytes.len() as u64,
            max: limits::PAYLOAD_BYTES_MAX as u64,
        });
    }
    let size = bytes.len() as u64;
    let payload = Payload { salt: seal.salt, bytes };
    let mut record = Record {
        seq: head.seq + 1,
        epoch: seal.epoch,
        kind: draft.fact.kind().to_owned(),
        version: draft.fact.version(),
        place: draft.place,
        at: seal.at,
        actor: serde_json::to_string(&draft.actor).expect("an actor is plain text"),
        payload_digest: payload.digest(),
        hash: Digest::default(),
        payload: Some(payload),
    };
    record.hash = chain(session, &head.hash, &record);
    let entry = Entry {
        seq: record.seq,
        epoch: record.epoch,
        at: record.at,
        actor: draft.actor,
        place: draft.place,
        fact: draft.fact,
        prev_hash: head.hash,
        hash: record.hash,
        bytes: size,
    };
    Ok((entry, record))
}

/// Verifies that a record is the one after `head`, whole and unchanged; returns the new head.
///
/// # Errors
/// If its number, chain hash or payload digest is not what it must be.
pub fn verify(session: &SessionId, head: Head, record: &Record) -> Result<Head, Corrupt> {
    if record.seq != head.seq + 1 {
        return Err(Corrupt::at(head.seq + 1, format!("missing; the next one there is {}", record.seq)));
    }
    if let Some(payload) = &record.payload
        && payload.digest() != record.payload_digest
    {
        return Err(Corrupt::at(record.seq, "the payload is not the one that was appended"));
    }
    if chain(session, &head.hash, record) != record.hash {
        return Err(Corrupt::at(
            record.seq,
            "the hash chain is broken: this entry or one before it was changed",
        ));
    }
    Ok(Head { seq: record.seq, hash: record.hash })
}

/// Verifies and decodes the record after `head`.
///
/// # Errors
/// As [`verify`]; and if the payload is gone, or is none that this host knows.
pub fn open(session: &SessionId, head: Head, record: &Record) -> Result<Entry, Corrupt> {
    verify(session, head, record)?;
    let Some(payload) = &record.payload else {
        return Err(Corrupt::at(record.seq, "its payload has been removed"));
    };
    let fact = Fact::decode(&record.kind, record.version, &payload.bytes)
        .map_err(|what| Corrupt::at(record.seq, what))?;
    let actor: Actor = serde_json::from_str(&record.actor)
        .map_err(|error| Corrupt::at(record.seq, format!("its actor: {error}")))?;
    Ok(Entry {
        seq: record.seq,
        epoch: record.epoch,
        at: record.at,
        actor,
        place: record.place,
        fact,
        prev_hash: head.hash,
        hash: record.hash,
        bytes: payload.bytes.len() as u64,
    })
}

/// `blake3(prev_hash ‖ header ‖ payload_digest)`; the header is the columns, each with its length.
fn chain(session: &SessionId, prev_hash: &Digest, record: &Record) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut field = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u32).to_le_bytes());
        hasher.update(bytes);
    };
    field(&prev_hash.0);
    field(session.as_str().as_bytes());
    field(&record.seq.to_le_bytes());
    field(&record.epoch.to_le_bytes());
    field(record.kind.as_bytes());
    field(&record.version.to_le_bytes());
    field(&record.place.turn.to_le_bytes());
    field(&record.place.step.to_le_bytes());
    field(&record.place.ordinal.to_le_bytes());
    field(&record.place.index.to_le_bytes());
    field(&record.at.0.to_le_bytes());
    field(record.actor.as_bytes());
    field(&record.payload_digest.0);
    Digest(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::{TurnStarted, UserStop};
    use rewake_wire::Sender;

    fn session() -> SessionId {
        SessionId::parse("ses_1").unwrap()
    }

    fn journal() -> Vec<Record> {
        let drafts = [
            Draft::system(Place::turn(1), TurnStarted { commands: vec![1] }),
            Draft::system(
                Place::default(),
                UserStop { n: 2, sender: Sender::System, reason: "enough".into() },
            ),
            Draft::system(Place::turn(2), TurnStarted { commands: vec![] }),
        ];
        let mut head = Head::default();
        drafts
            .into_iter()
            .map(|draft| {
                let (entry, record) =
                    seal(&session(), head, Seal { epoch: 3, at: Timestamp(5), salt: [7; 16] }, draft)
                        .unwrap();
                head = Head { seq: entry.seq, hash: entry.hash };
                record
            })
            .collect()
    }

    fn read(records: &[Record]) -> Result<Vec<Entry>, Corrupt> {
        let mut head = Head::default();
        records
            .iter()
            .map(|record| {
                let entry = open(&session(), head, record)?;
                head = Head { seq: entry.seq, hash: entry.hash };
                Ok(entry)
            })
            .collect()
    }

    #[test]
    fn what_was_sealed_opens() {
        let entries = read(&journal()).unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[2].prev_hash, entries[1].hash);
    }

    #[test]
    fn every_column_is_in_the_chain() {
        let changes: [fn(&mut Record); 10] = [
            |r| r.epoch += 1,
            |r| r.kind.push('x'),
            |r| r.version += 1,
            |r| r.place.turn += 1,
            |r| r.place.step += 1,
            |r| r.place.ordinal += 1,
            |r| r.place.index += 1,
            |r| r.at.0 += 1,
            |r| r.actor = r.actor.replace("host", "ghost"),
            |r| r.payload.as_mut().unwrap().bytes.push(b' '),
        ];
        for (which, change) in changes.into_iter().enumerate() {
            let mut records = journal();
            change(&mut records[1]);
            assert_eq!(read(&records).unwrap_err().seq, 2, "change {which}");
        }
        let other = SessionId::parse("ses_2").unwrap();
        assert!(verify(&other, Head::default(), &journal()[0]).is_err());
    }

    #[test]
    fn a_missing_a_swapped_and_a_doubled_entry_are_found() {
        let mut missing = journal();
        missing.remove(1);
        let mut swapped = journal();
        swapped.swap(0, 1);
        let mut doubled = journal();
        doubled.insert(1, doubled[0].clone());
        for (records, seq, next) in [(missing, 2, 3), (swapped, 1, 2), (doubled, 2, 1)] {
            let what = format!("missing; the next one there is {next}");
            assert_eq!(read(&records).unwrap_err(), Corrupt::at(seq, what));
        }
    }

    #[test]
    fn a_chain_verifies_without_its_payloads() {
        let mut records = journal();
        records[0].payload = None;
        let mut head = Head::default();
        for record in &records {
            head = verify(&session(), head, record).unwrap();
        }
        assert_eq!(read(&records).unwrap_err(), Corrupt::at(1, "its payload has been removed"));
    }
}
