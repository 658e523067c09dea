//! What is made of how a session ended, and how two runs of it are held against each other.

use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{Asker, Question, QuestionAsked, Scope, TurnFailed};
use rewake_core::ids::{Digest, Timestamp};
use rewake_core::money::Usd;
use rewake_sandbox::baseline::Thing;
use rewake_wire::Usage;

use super::*;

fn case() -> SessionCase {
    SessionCase {
        agent: None,
        with: vec![],
        script: None,
        messages: vec![],
        answers: std::collections::BTreeMap::new(),
        transcript: None,
        status: Some(Stands::Idle),
        turn: None,
        says: vec![],
        files: super::super::cases::Files::new(),
    }
}

fn entry(seq: u64, fact: Fact) -> Entry {
    let Draft { actor, place, fact } = Draft::system(Place::turn(1), fact);
    let hash = Digest::default();
    Entry { seq, epoch: 1, at: Timestamp(0), actor, place, fact, prev_hash: hash, hash, bytes: 0 }
}

fn asked(seq: u64, id: &str) -> Entry {
    let question = Question { id: id.into(), text: "?".into(), choices: vec![], schema: None };
    entry(seq, QuestionAsked { question, by: Asker::Harness }.into())
}

#[test]
fn a_failed_turn_that_no_case_speaks_of_is_told() {
    let failed = TurnFailed {
        code: "trap".into(),
        detail: "it trapped".into(),
        scope: Scope::Turn,
        usage: Usage::default(),
        cost: Usd::ZERO,
        pending: 0,
    };
    let entries = [entry(1, failed.into())];
    let told = |case: &SessionCase| check_turns(case, &entries).map(|finding| finding.what);
    let what = told(&case()).expect("a finding");
    assert!(what.contains("turn 1 failed") && what.contains("it trapped"), "{what}");
    assert_eq!(told(&SessionCase { turn: Some(TurnEnd::Failed), ..case() }), None);
    assert_eq!(told(&SessionCase { transcript: Some("a.txt".into()), ..case() }), None);
    assert_eq!(told(&SessionCase { status: Some(Stands::Failed), ..case() }), None);
}

#[test]
fn a_question_that_is_asked_again_is_answered_again() {
    let entries = [asked(3, "q"), asked(5, "other"), asked(8, "q")];
    assert_eq!(answer_key(&entries[..2], "q"), "answer-3-q");
    assert_eq!(answer_key(&entries, "q"), "answer-8-q");
}

#[test]
fn another_workspace_is_told_by_its_files() {
    let file = |text: &str| Thing::File {
        digest: Digest::of(text.as_bytes()),
        size: text.len() as u64,
        is_executable: false,
    };
    let wanted = Tree::from([("a".to_owned(), file("x")), ("b".to_owned(), file("x"))]);
    let came = Tree::from([("a".to_owned(), file("xx")), ("c".to_owned(), file("x"))]);
    assert!(other_files(&wanted, &wanted).is_none());
    assert_eq!(other_files(&wanted, &came).expect("a finding").diff, ["~ a", "- b", "+ c"]);
}
