//! A journal as text, one fact a line, that anybody may have written: `TURN.STEP.ORDINAL.INDEX KIND VERSION PAYLOAD`.
//! Whatever stands in it, folding and deciding end well, and agree with each other.
//!
//! Knows the core's public API only: fuzzers run this file too.

use rewake_core::codec::{self, Seal};
use rewake_core::command::{Command, Row};
use rewake_core::decide::{Advance, Input, LoadInput, StepEnd, StepOutcome};
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{Ending, Fact, Scope};
use rewake_core::ids::{Digest, HostId, SessionId, Timestamp};
use rewake_core::replay::Replay;
use rewake_core::{Refusal, Session, decide};
use rewake_wire::{Part, Sender};

/// Lines that are read.
const LINES_MAX: usize = 300;
/// A time of the store, in milliseconds.
const NOW: Timestamp = Timestamp(1_764_417_600_000);

/// Folds the lines that can be folded, and asks at each what is due.
pub(crate) fn folds(text: &str) {
    let id = SessionId::parse("ses_fuzz").expect("it has the prefix and letters");
    let mut session = Session::new(id.clone());
    for line in text.lines().take(LINES_MAX) {
        let Some(draft) = draft(line) else { continue };
        let is_let_in = session.created.is_some()
            && matches!(decide(&session, Input::Record(draft.clone())), Ok(decision) if decision.entries.first() == Some(&draft));
        match append(&session, draft) {
            Ok(next) => {
                session = next;
                holds(&session);
            }
            Err(why) => assert!(!is_let_in, "the gate lets in what cannot be folded: {why}\n{line}"),
        }
    }
}

fn draft(line: &str) -> Option<Draft> {
    let mut words = line.splitn(4, ' ');
    let mut numbers = words.next()?.splitn(4, '.').map(|number| number.parse::<u32>().ok());
    let mut number = || numbers.next().flatten();
    let place = Place { turn: number()?, step: number()?, ordinal: number()?, index: number()? };
    let (kind, version) = (words.next()?, words.next()?.parse().ok()?);
    let fact = Fact::decode(kind, version, words.next()?.as_bytes()).ok()?;
    assert_eq!(fact.kind(), kind);
    assert_eq!(
        Fact::decode(kind, fact.version(), &fact.encode()).as_ref(),
        Ok(&fact),
        "a fact is read as it was written"
    );
    Some(Draft::system(place, fact))
}

/// Seals and folds a draft.
fn append(session: &Session, draft: Draft) -> Result<Session, String> {
    let terms = Seal { epoch: 1, at: NOW, salt: [7; 16] };
    let (entry, record) = codec::seal(&session.id, session.head, terms, draft)
        .map_err(|refusal: Refusal| refusal.to_string())?;
    let opened = codec::open(&session.id, session.head, &record);
    assert_eq!(opened.as_ref(), Ok(&entry), "what was sealed opens");
    let mut next = session.clone();
    match next.apply(&entry) {
        Ok(()) => Ok(next),
        Err(corrupt) => {
            assert_eq!(corrupt.seq, entry.seq, "the entry is named");
            Err(corrupt.to_string())
        }
    }
}

/// What holds of every fold.
fn holds(session: &Session) {
    let bytes = serde_json::to_vec(session).expect("a session is plain data");
    let read: Session = serde_json::from_slice(&bytes).expect("a snapshot is read as it was written");
    assert_eq!(read, *session, "the snapshot is the fold");
    session.check().expect("a fold holds together");
    let _ = (
        session.status(),
        session.committed(),
        session.has_farewells(),
        session.monotonic_ns(Timestamp(i64::MAX)),
    );
    if let Some((_, step)) = session.open_step() {
        let replay = Replay::new(&step.entries);
        assert_eq!(replay.is_over(), replay.unclaimed().is_ok(), "what is left over is a mismatch");
    }
    for input in inputs(session) {
        let what = format!("{input:?}");
        let Ok(decision) = decide(session, input) else { continue };
        let mut session = session.clone();
        for draft in decision.entries {
            let kind = draft.fact.kind().to_owned();
            session = append(&session, draft)
                .unwrap_or_else(|why| panic!("{kind} was decided and cannot be folded: {why}\nafter {what}"));
        }
    }
}

/// What can happen to any session.
fn inputs(session: &Session) -> Vec<Input> {
    let n = (1..).find(|n| !session.taken.contains(*n)).expect("there is always another row");
    let row = |n, command| Row { n, sender: Sender::Operator("ada".into()), command };
    let question = session.questions.first().cloned().unwrap_or_default();
    let message = Command::Message { parts: vec![Part::text("hello")] };
    let advance = |rows, running, ready| {
        let seed = Digest::of(b"seed");
        Input::Advance(Advance { rows, now: NOW, seed, running, ready })
    };
    let load = LoadInput {
        host: HostId::parse("host_fuzz").expect("it has the prefix and letters"),
        host_version: "0.1.0".into(),
        snapshot_seq: None,
        folded: 1,
        rejected: vec![],
        again: None,
    };
    let outcome = StepOutcome::Broken {
        how: Ending::Failed,
        scope: Scope::Session,
        code: "broken".into(),
        detail: String::new(),
    };
    let end =
        StepEnd { outcome, ordinal: 0, observed: vec![], logs: None, rows: vec![row(n, message.clone())] };
    vec![
        advance(vec![], false, false),
        advance(vec![row(n, message)], false, true),
        advance(vec![row(n, Command::Answer { question, value: "1".into() })], true, false),
        advance(vec![row(n, Command::Interrupt { turn: session.turns })], true, false),
        advance(vec![row(n, Command::Stop { reason: "enough".into() })], true, false),
        Input::Load(load),
        Input::Unload { why: "idle".into() },
        Input::StepEnd(end),
    ]
}
