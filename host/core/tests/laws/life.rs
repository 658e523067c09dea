//! The session as a whole: what is refused of creating, loading and unloading it, and that it can always
//! end, however long a guest's last words are.

use rewake_core::decide::{Input, LoadInput, StepEnd, StepOutcome};
use rewake_core::fact::{Created, Ending, Fact, Next, PluginKind, Provider, Question, Scope};
use rewake_core::ids::HostId;
use rewake_core::limits::{
    CODE_BYTES_MAX, DETAIL_BYTES_MAX, ID_BYTES_MAX, QUESTION_BYTES_MAX, QUESTIONS_MAX,
};
use rewake_core::{Refusal, Session, decide};

use crate::bench::Bench;
use crate::pins;

fn refusal(session: &Session, input: Input) -> String {
    decide(session, input).unwrap_err().to_string()
}

fn create(change: impl FnOnce(&mut Created)) -> Input {
    let mut created = pins::created();
    change(&mut created);
    Input::Create(Box::new(created))
}

fn load() -> Input {
    Input::Load(LoadInput {
        host: HostId::parse("host_laws").unwrap(),
        host_version: "0.1.0".into(),
        snapshot_seq: None,
        folded: 0,
        rejected: vec![],
        again: None,
    })
}

fn end(outcome: StepOutcome) -> Input {
    Input::StepEnd(StepEnd { outcome, ordinal: 0, observed: vec![], logs: None, rows: vec![] })
}

fn broken(scope: Scope, code: &str, detail: &str) -> Input {
    let (code, detail) = (code.to_owned(), detail.to_owned());
    end(StepOutcome::Broken { how: Ending::Failed, scope, code, detail })
}

fn ask(ids: &[&str]) -> Input {
    let question = |id: &&str| Question { id: (*id).into(), text: "?".into(), choices: vec![], schema: None };
    let next = Next::Ask(ids.iter().map(question).collect());
    end(StepOutcome::Completed { next, state: None, calls: Default::default() })
}

#[test]
fn a_session_is_created_once_and_of_what_it_has() {
    let (empty, loaded) = (Session::new(pins::session()), Bench::loaded().session);
    assert_eq!(refusal(&loaded, create(|_| {})), "session ses_laws exists already");
    let harness = "a session's harness must be one of its components, and a harness";
    let tool = "a tool must be of one of the session's components, and that a component of tools";
    let provider = "a tool must be of a component, of the host or of a client, and of one of them only";
    let hook = "a hook must be one of the session's components, and a hook";
    for (change, why) in [
        ((|created| created.agent.harness = 9) as fn(&mut Created), harness),
        (|created| created.agent.harness = 1, harness),
        (|created| created.components[0].kind = PluginKind::Tool, harness),
        (|created| created.tools[0].component = Some(9), tool),
        (|created| created.tools[0].component = Some(0), tool),
        (|created| created.tools[0].component = None, provider),
        (|created| created.tools[0].by = Some(Provider::Host), provider),
        (|created| created.hooks[0].component = 9, hook),
    ] {
        assert_eq!(refusal(&empty, create(change)), format!("refused by the journal's rules: {why}"));
    }
}

#[test]
fn what_does_not_exist_is_neither_loaded_nor_unloaded() {
    let empty = Session::new(pins::session());
    for input in [load(), Input::Unload { why: "idle".into() }] {
        assert_eq!(refusal(&empty, input), "session ses_laws does not exist");
    }
}

#[test]
fn a_step_that_is_not_open_does_not_end() {
    for session in [Bench::loaded().session, Bench::in_turn().session] {
        let refused = decide(&session, broken(Scope::Turn, "x", ""));
        assert!(matches!(refused, Err(Refusal::Rule(_))), "{refused:?}");
    }
    let (bench, _) = Bench::asking();
    let open = "refused by the journal's rules: a step cannot end well while a call of it is open";
    let done = StepOutcome::Completed { next: Next::Done, state: None, calls: Default::default() };
    assert_eq!(refusal(&bench.session, end(done)), open);
}

#[test]
fn questions_have_ids_of_their_own() {
    let session = Bench::in_step().session;
    let long = "q".repeat(ID_BYTES_MAX + 1);
    for (ids, why) in [
        (vec![], "no question"),
        (vec![""], "must have 1 to 64 bytes"),
        (vec![long.as_str()], "must have 1 to 64 bytes"),
        (vec!["a", "b", "a"], "two open questions have the id \"a\""),
    ] {
        let refused = refusal(&session, ask(&ids));
        assert!(refused.contains(why), "{refused}");
    }
    decide(&session, ask(&["a", "b"])).unwrap();
}

#[test]
fn questions_are_few_and_small() {
    let session = Bench::in_step().session;
    let many: Vec<String> = (0..=QUESTIONS_MAX).map(|n| format!("q{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(refusal(&session, ask(&many)).contains("at most 16 are taken"));
    decide(&session, ask(&many[1..])).unwrap();
    let big = |bytes: usize| {
        let choices = vec!["x".repeat(bytes - 1)];
        let next = Next::Ask(vec![Question { id: "q".into(), text: "?".into(), choices, schema: None }]);
        end(StepOutcome::Completed { next, state: None, calls: Default::default() })
    };
    assert!(refusal(&session, big(QUESTION_BYTES_MAX + 1)).contains("at most 65536 are taken"));
    decide(&session, big(QUESTION_BYTES_MAX)).unwrap();
}

#[test]
fn last_words_are_cut_so_that_the_end_always_fits() {
    for scope in [Scope::Turn, Scope::Session] {
        let mut bench = Bench::in_step();
        let words = "é".repeat(1 << 20);
        let decision = decide(&bench.session, broken(scope, &words, &words)).unwrap();
        let cut = " (… bytes cut)".len() + 20;
        for draft in &decision.entries {
            let bytes = draft.fact.encode().len();
            assert!(
                bytes < CODE_BYTES_MAX + DETAIL_BYTES_MAX + 2 * cut + 400,
                "{} has {bytes}",
                draft.fact.kind()
            );
        }
        let last = decision.entries.last().map(|draft| draft.fact.clone());
        assert!(matches!(last, Some(Fact::TurnFailed(_))));
        bench.add_all(decision.entries).unwrap();
        assert_eq!(bench.session.ended.is_some(), scope == Scope::Session);
        assert!(bench.session.turn.is_none());
    }
}
