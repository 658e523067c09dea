//! The checks can fail: each is shown evidence in which exactly what it looks for was put wrong; and where a store can
//! lie, a lying store is run.

use rewake_core::command::Command;
use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{
    CallRetried, CommandCanceled, CommandEdited, CommandPromoted, CommandRejected, Fact, Observed, Source,
    StateRef, StepObserved, UserInterrupt,
};
use rewake_core::ids::{Digest, HostId};
use rewake_core::limits::RETRIES_MAX;
use rewake_runtime::lease::{LEASE_MS, MARGIN_MS};
use rewake_tests::world::ann;

use crate::check::{self, CHECKS};
use crate::evidence::Evidence;
use crate::faults::{Fault, LEASE_GONE_MS, Listed, Which};
use crate::people::Sent;
use crate::plan::{LOG, People, Plan, Talk, Walls};
use crate::run::{With, run};
use crate::scene::{Begun, Takeover};
use crate::seeds::judge;
use crate::sim::Lie;
use crate::stage::Stage;

/// A session that has something of everything that is checked.
fn plan() -> Plan {
    let append = |name: &str, line: &str| {
        format!(r#"{{"name":"{name}","input":{{"path":"{LOG}","line":"{line}","sleep_ms":20}}}}"#)
    };
    let uses = [append("append_idempotent", "i"), append("append_once", "o")].join(",");
    let first = format!(
        r#"[{{"op":"tools","uses":[{uses}]}},{{"op":"ask","id":"q","text":"Go on?"}},{{"op":"say","text":"on"}}]"#
    );
    let messages = vec![first, r#"[{"op":"say","text":"again"}]"#.to_owned()];
    let sessions = vec![Talk { nth: 0, bundle: 0, people: People::Calm, messages }];
    Plan { snapshot_entries: 5, walls: Walls::Steady, sessions }
}

fn good(stage: &Stage) -> Evidence {
    // A second host, and a call that is tried again.
    let faults = vec![Listed { kind: "tool.started", nth: 1, fault: Fault::KillSoon(10) }];
    let ran = run(stage, 0, &plan(), With { faults: Which::Listed(faults, vec![]), lie: None });
    assert_eq!(judge(stage, &plan(), &ran), Ok(()), "{:#?}", ran.actions);
    ran.evidence[0].clone()
}

fn position(evidence: &Evidence, kind: &str) -> usize {
    let at = evidence.entries.iter().position(|entry| entry.fact.kind() == kind);
    at.unwrap_or_else(|| panic!("no {kind}"))
}

/// Takes an entry out.
fn without(evidence: &mut Evidence, kind: &str) {
    let at = position(evidence, kind);
    evidence.entries.remove(at);
    renumber(evidence);
}

/// Puts an entry in once more, right after itself.
fn twice(evidence: &mut Evidence, kind: &str) {
    let at = position(evidence, kind);
    let again = Entry { seq: 0, ..evidence.entries[at].clone() };
    evidence.entries.insert(at + 1, again);
    renumber(evidence);
}

/// Puts a fact in, after the first of a kind.
fn after(evidence: &mut Evidence, kind: &str, place: Option<Place>, fact: impl Into<Fact>) {
    let at = position(evidence, kind);
    let before = &evidence.entries[at];
    let entry = Entry { seq: 0, fact: fact.into(), place: place.unwrap_or(before.place), ..before.clone() };
    evidence.entries.insert(at + 1, entry);
    renumber(evidence);
}

/// Has something done outside of the store once more.
fn does(evidence: &mut Evidence, line: &str) {
    let again = Begun { line: line.to_owned(), ..evidence.begun[0].clone() };
    evidence.begun.push(again);
}

/// Numbers without a gap; what names an entry by its number still does.
fn renumber(evidence: &mut Evidence) {
    let moved: std::collections::BTreeMap<u64, u64> =
        evidence.entries.iter().zip(1..).map(|(entry, seq)| (entry.seq, seq)).collect();
    let new = |start: &mut u64| *start = moved.get(start).copied().unwrap_or(u64::MAX);
    for (entry, seq) in evidence.entries.iter_mut().zip(1..) {
        entry.seq = seq;
        match &mut entry.fact {
            Fact::ToolCompleted(body) => body.start.iter_mut().for_each(new),
            Fact::ToolLost(body) => new(&mut body.start),
            Fact::CallRetried(body) => new(&mut body.start),
            _ => {}
        }
    }
}

/// What is put wrong, and the check that must notice.
type Doctoring = (&'static str, &'static str, fn(&mut Evidence));

const DOCTORINGS: &[Doctoring] = &[
    ("inputs", "an acknowledged row is in no entry", |evidence| without(evidence, "user.answer")),
    ("inputs", "a row is taken twice", |evidence| twice(evidence, "user.message")),
    ("inputs", "a row is acknowledged and not there", |evidence| evidence.through -= 1),
    ("inputs", "two commands are one row", |evidence| evidence.sent[1].acked = evidence.sent[0].acked),
    ("inputs", "a key came to two rows", |evidence| evidence.broken_promises.push("two rows".into())),
    ("effects", "something is done that was not announced", |evidence| does(evidence, "x")),
    ("effects", "what may be done once is done twice", |evidence| does(evidence, "o")),
    ("effects", "what may be repeated is done oftener than tried", |evidence| {
        does(evidence, "i");
        does(evidence, "i");
    }),
    ("effects", "what was told to be done was not", |evidence| {
        evidence.begun.retain(|begun| begun.line != "i")
    }),
    ("effects", "a call of class once is tried again", |evidence| {
        let once =
            |entry: &&Entry| matches!(&entry.fact, Fact::ToolStarted(body) if body.name == "append_once");
        let start = evidence.entries.iter().find(once).map_or(0, |entry| entry.seq);
        after(evidence, "tool.started", None, CallRetried::again(start, 1));
    }),
    ("epochs", "an epoch goes back", |evidence| {
        let last = evidence.entries.len() - 1;
        evidence.entries[last].epoch = 1;
    }),
    ("epochs", "a number is missing", |evidence| drop(evidence.entries.remove(1))),
    ("epochs", "two hosts write in one epoch", |evidence| evidence.accepted[1].host = 2),
    ("epochs", "somebody writes without the lease", |evidence| {
        let last = evidence.accepted.len() - 1;
        evidence.accepted[last].holder = HostId::parse("host_other").ok();
    }),
    ("epochs", "an entry is written twice", |evidence| {
        let first = evidence.accepted[0].clone();
        evidence.accepted.insert(1, first);
    }),
    ("epochs", "another host loaded it than wrote that", |evidence| {
        let at = position(evidence, "session.loaded");
        if let Fact::SessionLoaded(body) = &mut evidence.entries[at].fact {
            assert_eq!(body.source, Source::Startup);
            body.host = HostId::parse("host_other").expect("an id");
        }
    }),
    ("calls", "a call never ends", |evidence| without(evidence, "tool.completed")),
    ("calls", "a call ends twice", |evidence| twice(evidence, "tool.completed")),
    ("calls", "a call ends elsewhere", |evidence| {
        let at = position(evidence, "tool.completed");
        evidence.entries[at].place.index = 9;
    }),
    ("calls", "a call is tried for ever", |evidence| {
        for n in 1..=RETRIES_MAX + 1 {
            let start = evidence.entries[position(evidence, "tool.started")].seq;
            after(evidence, "tool.started", None, CallRetried::again(start, n));
        }
    }),
    ("writers", "a writer starts before an earlier one has ended", |evidence| {
        let at = position(evidence, "tool.completed");
        let end = evidence.entries.remove(at);
        evidence.entries.insert(position(evidence, "step.completed"), end);
        renumber(evidence);
    }),
    ("turns", "a turn never ends", |evidence| without(evidence, "turn.completed")),
    ("turns", "a turn ends twice", |evidence| twice(evidence, "turn.completed")),
    ("turns", "an entry stands outside of its turn", |evidence| {
        let at = position(evidence, "turn.completed");
        evidence.entries.swap(at, at - 1);
        renumber(evidence);
    }),
    ("questions", "a question is answered that nobody asked", |evidence| without(evidence, "question.asked")),
    ("questions", "a question stays open", |evidence| {
        let at = position(evidence, "user.answer");
        if let Fact::UserAnswer(body) = &mut evidence.entries[at].fact {
            body.question = "other".into();
        }
    }),
    ("steps", "state advances without a completed step", |evidence| {
        let at = position(evidence, "step.completed");
        if let Fact::StepCompleted(body) = &mut evidence.entries[at].fact {
            body.state = Some(StateRef { version: 1, digest: Digest::of(b"other") });
        }
    }),
    ("steps", "a step is run again for ever", |evidence| {
        let at = position(evidence, "step.rerun");
        if let Fact::StepRerun(body) = &mut evidence.entries[at].fact {
            body.again = 4;
        }
    }),
    ("interrupts", "a call begins after an interrupt", |evidence| {
        let interrupt = UserInterrupt { n: 1, sender: ann(), turn: 1 };
        after(evidence, "tools.requested", Some(Place::turn(1)), interrupt);
    }),
    ("margins", "an effect begins after its margin", |evidence| {
        let begun = &mut evidence.begun[0];
        (begun.at_ms, begun.excused_ms) = (begun.asked_ms + LEASE_MS - 2 * MARGIN_MS, 0);
    }),
    ("margins", "an effect begins later than its host stood still", |evidence| {
        let begun = &mut evidence.begun[0];
        (begun.at_ms, begun.excused_ms) = (begun.asked_ms + 2 * LEASE_MS, LEASE_MS);
    }),
    ("takeovers", "an effect begins when another has the session", |evidence| {
        let Begun { host, epoch, at_ms, .. } = evidence.begun[0];
        evidence.takeovers.push(Takeover { from: host, epoch: epoch + 1, at_ms });
    }),
    ("takeovers", "who takes over does not wait a margin", |evidence| {
        let Begun { host, epoch, at_ms, .. } = evidence.begun[0];
        evidence.takeovers.push(Takeover { from: host, epoch: epoch + 1, at_ms: at_ms + 2 * MARGIN_MS });
    }),
    ("own effects", "a host does what another has announced", |evidence| evidence.begun[0].host += 1),
    ("clocks", "a session's time goes back", |evidence| {
        let items = vec![Observed::Monotonic(2), Observed::Monotonic(1)];
        after(evidence, "step.started", None, StepObserved { items });
    }),
    ("isolation", "a session is loaded again for what happened to another", |evidence| {
        evidence.disturbances = 0
    }),
    ("changes", "an edit was acknowledged and not told", |evidence| {
        acknowledge(evidence, Command::Edit { target: 1, parts: vec![] });
    }),
    ("changes", "a message is not told as it was edited", |evidence| {
        let sender = ann();
        let edited = CommandEdited { n: 9, sender, target: 3, before: vec![], after: vec![] };
        after(evidence, "session.loaded", Some(Place::default()), edited);
    }),
    ("changes", "a message is told that was taken back", |evidence| {
        let n = acknowledge(evidence, Command::Cancel { target: 3 });
        let canceled = CommandCanceled { n, sender: ann(), target: 3 };
        after(evidence, "turn.completed", Some(Place::default()), canceled);
        let told = position(evidence, "command.canceled");
        let at = evidence.entries.iter().rposition(|entry| entry.fact.kind() == "user.message");
        let message = evidence.entries.remove(at.expect("the second message"));
        evidence.entries.insert(told + 1, message);
        renumber(evidence);
    }),
    ("changes", "an edit was acknowledged and rejected", |evidence| {
        let n = acknowledge(evidence, Command::Edit { target: 3, parts: vec![] });
        let rejected = CommandRejected { n, why: "late".into() };
        after(evidence, "session.loaded", Some(Place::default()), rejected);
    }),
    ("changes", "another message is told than the promoted one", |evidence| {
        let promoted = CommandPromoted { n: 9, sender: ann(), target: 3, turn: None };
        after(evidence, "session.loaded", Some(Place::default()), promoted);
    }),
    ("changes", "a message says something else than was sent", |evidence| {
        let at = position(evidence, "user.message");
        if let Fact::UserMessage(body) = &mut evidence.entries[at].fact {
            body.parts.clear();
        }
    }),
];

/// Somebody was told that the session has this; its row.
fn acknowledge(evidence: &mut Evidence, command: Command) -> u64 {
    let n = evidence.through + 1;
    let sent = Sent { key: "more".into(), sender: ann(), command, acked: Some(n), refused: false };
    evidence.sent.push(sent);
    n
}

/// Every check notices what it is for.
#[test]
fn every_check_can_fail() {
    let stage = Stage::new();
    let good = good(&stage);
    assert_eq!(check::all(&good), Ok(()));
    for (name, what, doctor) in DOCTORINGS {
        let mut doctored = good.clone();
        doctor(&mut doctored);
        let (_, check) = CHECKS.iter().find(|(other, _)| other == name).expect("a check");
        assert!(check(&doctored).is_err(), "{name} does not notice that {what}");
    }
    let shown: Vec<&str> = DOCTORINGS.iter().map(|(name, ..)| *name).collect();
    assert!(CHECKS.iter().all(|(name, _)| shown.contains(name)), "a check that was never seen to fail");
}

/// A boot clock that does not count the time in which its host stood still is noticed: a stale host begins what it has
/// announced.
#[test]
fn a_clock_that_stands_still_is_noticed() {
    let stage = Stage::new();
    let faults = vec![Listed { kind: "tool.started", nth: 1, fault: Fault::TakenOver(LEASE_GONE_MS) }];
    for (lie, notices) in [(Some(Lie::Clock), Some("margins: host 1 began")), (None, None)] {
        let ran = run(&stage, 0, &plan(), With { faults: Which::Listed(faults.clone(), vec![]), lie });
        let judged = judge(&stage, &plan(), &ran);
        let holds =
            notices.map_or(judged == Ok(()), |why| judged.as_ref().is_err_and(|got| got.starts_with(why)));
        assert!(holds, "{lie:?}: {judged:?} {:#?}", ran.actions);
    }
}

/// A store that acknowledges what it does not keep, or keeps what is not so, is noticed in the run itself.
#[test]
fn a_store_that_lies_is_noticed() {
    let stage = Stage::new();
    for (lie, notices) in [
        (Lie::Start, "an effect that no entry announces"),
        (Lie::Send, "inputs: two commands are one row"),
        (Lie::Snapshot, "folds: "),
    ] {
        let ran = run(&stage, 0, &plan(), With { faults: Which::Nothing, lie: Some(lie) });
        let judged = judge(&stage, &plan(), &ran);
        let why = judged.expect_err("nobody noticed");
        assert!(why.contains(notices), "{lie:?}: {why}");
    }
}
