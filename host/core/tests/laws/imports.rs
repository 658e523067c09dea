//! Imports into the workspace (R8): they stand between turns, and a load is what sees them in place.

use rewake_core::decide::{Input, LoadInput};
use rewake_core::entry::Place;
use rewake_core::fact::{Fact, SessionStopped, WorkspaceImported};
use rewake_core::ids::{Digest, HostId};
use rewake_core::{Corrupt, Refusal, Session, decide};
use rewake_wire::{ActorType, Sender};

use crate::bench::{Bench, snapshot};
use crate::pins;
use crate::world::World;

fn body(tree: &[u8]) -> WorkspaceImported {
    WorkspaceImported {
        by: Sender::Operator("ada".into()),
        files: 1,
        bytes: 2,
        left_out: 0,
        replaced: false,
        tree: Digest::of(tree),
    }
}

/// An import of something new.
pub(crate) fn import(session: &Session) -> Input {
    Input::Import(body(&session.head.seq.to_le_bytes()))
}

/// No turn is open at an import, and the fold names the newest that no load has seen yet.
pub(crate) fn they_stand_between_turns(world: &World) {
    let mut open = false;
    let mut unseen = None;
    for entry in &world.journal {
        match &entry.fact {
            Fact::TurnStarted(_) => open = true,
            Fact::SessionLoaded(_) => unseen = None,
            Fact::WorkspaceImported(body) => {
                assert!(!open, "an import at {} stands in a turn", entry.seq);
                assert_eq!(entry.place, Place::default());
                unseen = Some(body.tree);
            }
            fact => open &= !fact.is_turn_end(),
        }
    }
    assert_eq!(world.view.imported, unseen);
}

#[test]
fn an_import_is_an_entry_of_who_brought_it() {
    let mut bench = Bench::loaded();
    let decision = decide(&bench.session, Input::Import(body(b"a"))).unwrap();
    let [draft] = decision.entries.as_slice() else { panic!("one entry: {decision:?}") };
    assert_eq!((draft.actor.kind, draft.actor.id.as_str()), (ActorType::Operator, "ada"));
    assert_eq!(draft.fact, Fact::from(body(b"a")));
    bench.add_all(decision.entries).unwrap();
    assert_eq!(bench.session.imported, Some(Digest::of(b"a")));
    bench.add(Place::default(), body(b"b")).unwrap();
    assert_eq!(bench.session.imported, Some(Digest::of(b"b")), "the newest counts");
    let load = decide(
        &bench.session,
        Input::Load(LoadInput {
            host: HostId::parse("host_laws").unwrap(),
            host_version: "0.1.0".into(),
            snapshot_seq: None,
            folded: 0,
            rejected: vec![],
            again: None,
        }),
    );
    bench.add_all(load.unwrap().entries).unwrap();
    assert_eq!(bench.session.imported, None, "whoever loaded it has seen to it");
}

#[test]
fn nothing_is_brought_into_a_turn_or_after_the_end() {
    let refused = |session: &Session| decide(session, Input::Import(body(b"a"))).unwrap_err();
    let empty = Session::new(pins::session());
    assert!(refused(&empty).to_string().contains("does not exist"));
    for bench in [Bench::in_turn(), Bench::in_step()] {
        let refusal = refused(&bench.session);
        assert!(matches!(&refusal, Refusal::Conflict(why) if why.contains("turn 1 of ses_laws is open")));
    }
    let mut ended = Bench::loaded();
    ended.add(Place::default(), SessionStopped { reason: String::new() }).unwrap();
    assert_eq!(refused(&ended.session), Refusal::Ended { status: "stopped" });
    for (bench, why) in [(Bench::in_step(), "a turn is open"), (ended, "the session has ended")] {
        let at = bench.session.head.seq + 1;
        let got = bench.clone().add(Place::default(), body(b"a")).unwrap_err();
        assert_eq!(got, Corrupt::at(at, format!("workspace.imported: {why}")));
    }
}

#[test]
fn a_snapshot_from_before_there_were_imports_is_read() {
    let mut snapshot = snapshot(&Bench::loaded().session);
    snapshot.as_object_mut().unwrap().remove("imported").unwrap();
    let read: Session = serde_json::from_slice(&serde_json::to_vec(&snapshot).unwrap()).unwrap();
    assert_eq!(read, Bench::loaded().session);
}
