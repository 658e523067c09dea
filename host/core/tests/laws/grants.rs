//! Grants in force (R11): the pin is the ceiling, and every change below it is an entry.

use rewake_core::codec::{Seal, seal};
use rewake_core::decide::{InForce, Input};
use rewake_core::fact::{
    CallRetried, Created, Fact, GrantsChanged, GrantsWhy, ModelCompleted, ModelOutcome, ModelStarted,
    StepRerun,
};
use rewake_core::grant::{Access, FsGrant, FsSource, Grants};
use rewake_core::ids::Timestamp;
use rewake_core::money::Usd;
use rewake_core::{Session, decide};

use crate::bench::{Bench, STEP, USE, model_started, refused};
use crate::pins;

/// The index of the tools among the components.
const TOOLS: u32 = 1;

fn mount(access: Access) -> Grants {
    let grant = FsGrant { mount: "/workspace".into(), source: FsSource::Workspace, access };
    Grants { fs: vec![grant], ..Grants::default() }
}

fn created(asks: Grants, grants: Grants) -> Created {
    let mut created = pins::created();
    let tools = &mut created.components[TOOLS as usize];
    (tools.asks, tools.grants) = (asks, grants);
    created
}

/// A session whose tools were granted to write.
fn session() -> Session {
    let mut session = Session::new(pins::session());
    let all = mount(Access::ReadWrite);
    put(&mut session, Input::Create(Box::new(created(all.clone(), all))));
    session
}

/// Decides, seals and folds; returns the facts.
fn put(session: &mut Session, input: Input) -> Vec<Fact> {
    let decision = decide(session, input).unwrap();
    let mut facts = Vec::new();
    for draft in decision.entries {
        let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
        let (entry, _) = seal(&pins::session(), session.head, terms, draft).unwrap();
        session.apply(&entry).unwrap();
        facts.push(entry.fact);
    }
    facts
}

fn in_force(grants: Grants) -> InForce {
    InForce { grants, why: GrantsWhy::Rules, by: None }
}

/// The grants of all components: of one of them these, of the others their pins.
fn with(component: u32, grants: Grants) -> Input {
    let mut all: Vec<Grants> = pins::created().components.into_iter().map(|one| one.grants).collect();
    all[component as usize] = grants;
    Input::Grants(all.into_iter().map(in_force).collect())
}

fn now(tools: Grants) -> Input {
    with(TOOLS, tools)
}

fn narrowed(from: Grants, to: Grants) -> Vec<Fact> {
    vec![GrantsChanged { component: TOOLS, from, to, why: GrantsWhy::Rules, by: None }.into()]
}

#[test]
fn what_changes_below_the_pin_is_an_entry_and_what_does_not_is_none() {
    let (rw, ro, none) = (mount(Access::ReadWrite), mount(Access::ReadOnly), Grants::default());
    let mut session = session();
    assert_eq!(put(&mut session, now(rw.clone())), []);
    assert_eq!(put(&mut session, now(ro.clone())), narrowed(rw.clone(), ro.clone()));
    assert_eq!(put(&mut session, now(ro.clone())), []);
    assert_eq!(put(&mut session, now(none.clone())), narrowed(ro, none.clone()));
    // Back to the pin, never silently.
    assert_eq!(put(&mut session, now(rw.clone())), narrowed(none, rw.clone()));
    assert_eq!(*session.grants_of(TOOLS), rw);
}

#[test]
fn nothing_is_granted_beyond_the_pin_or_beyond_what_is_asked() {
    let (rw, ro) = (mount(Access::ReadWrite), mount(Access::ReadOnly));
    let empty = Session::new(pins::session());
    let refused = decide(&empty, Input::Create(Box::new(created(ro.clone(), rw.clone())))).unwrap_err();
    assert!(refused.to_string().contains("may not be granted what it does not ask for"), "{refused}");
    let mut session = Session::new(pins::session());
    put(&mut session, Input::Create(Box::new(created(rw.clone(), ro.clone()))));
    let refused = decide(&session, now(rw)).unwrap_err();
    assert!(refused.to_string().contains("never use more than what was pinned"), "{refused}");
    let refused = decide(&session, Input::Grants(vec![in_force(ro)])).unwrap_err();
    assert!(refused.to_string().contains("every component"), "{refused}");
}

#[test]
fn a_journal_that_widens_or_skips_is_corrupt() {
    let (rw, ro, none) = (mount(Access::ReadWrite), mount(Access::ReadOnly), Grants::default());
    let mut session = Session::new(pins::session());
    put(&mut session, Input::Create(Box::new(created(rw.clone(), ro.clone()))));
    for (component, from, to, why) in [
        (9, ro.clone(), none.clone(), "the session has no such component"),
        (TOOLS, ro, rw.clone(), "it grants more than what was pinned"),
        (TOOLS, rw, none, "it starts from other grants than were in force"),
    ] {
        let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
        let fact = GrantsChanged { component, from, to, why: GrantsWhy::Rules, by: None };
        let draft = rewake_core::entry::Draft::system(Default::default(), fact);
        let (entry, _) = seal(&pins::session(), session.head, terms, draft).unwrap();
        let error = session.clone().apply(&entry).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

const NOT_GRANTED: &str = "a harness asks the session's model, and others only where they are granted";

/// In a step of a session whose harness was granted these models, and may ask those of `now`.
fn in_step(pinned: &[&str], now: &[&str]) -> Bench {
    let models = |names: &[&str]| Grants {
        models: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Grants::default()
    };
    let mut bench = Bench::in_step();
    let pins = bench.session.created.as_mut().expect("it is created");
    let harness = &mut pins.components[0];
    (harness.asks, harness.grants) = (models(pinned), models(pinned));
    bench.add_all(decide(&bench.session, with(0, models(now))).unwrap().entries).unwrap();
    bench
}

fn asked(model: &str, reserved: u64) -> ModelStarted {
    let provider = (reserved > 0).then(|| "p/m".into());
    ModelStarted { model: model.into(), provider, reserved: Usd::from_nanos(reserved), ..model_started() }
}

fn ended(start: u64, outcome: ModelOutcome, cost: u64) -> ModelCompleted {
    ModelCompleted { start, outcome, cost: Usd::from_nanos(cost), ms: 0 }
}

/// `N-G4`: every harness asks the session's model; another one only if it is granted now.
#[test]
fn a_model_is_asked_only_if_it_is_the_session_s_or_granted() {
    for (pinned, now, may) in [
        (&[][..], &[][..], false),
        (&["fast"], &["fast"], true),
        (&["*"], &["*"], true),
        (&["*"], &["fast"], true),
        (&["slow"], &["slow"], false),
        // The pin is the ceiling, and the rules of now leave nothing of it.
        (&["fast"], &[], false),
    ] {
        let mut bench = in_step(pinned, now);
        bench.clone().record(USE, asked("scripted", 5)).unwrap();
        if may {
            bench.record(USE, asked("fast", 5)).unwrap();
            continue;
        }
        refused(&bench, USE, asked("fast", 5), NOT_GRANTED);
        let known = ModelStarted { provider: Some("p/m".into()), ..asked("fast", 0) };
        refused(&bench, USE, known, NOT_GRANTED);
        let start = bench.record(USE, asked("fast", 0)).unwrap();
        refused(&bench, USE, ended(start, ModelOutcome::Unavailable("busy".into()), 0), NOT_GRANTED);
        let again = CallRetried::again(start, 1);
        refused(&bench, USE, again, NOT_GRANTED);
        bench.record(USE, ended(start, ModelOutcome::Denied("no".into()), 0)).unwrap();
    }
}

/// A call that its host did not end is judged by the grants of now: it is not made again without one.
#[test]
fn a_grant_that_is_gone_ends_a_call_of_a_model() {
    let mut bench = in_step(&["fast"], &["fast"]);
    let start = bench.record(USE, asked("fast", 600)).unwrap();
    bench.add_all(decide(&bench.session, with(0, Grants::default())).unwrap().entries).unwrap();
    bench.add(STEP, StepRerun { again: 1 }).unwrap();
    let cost = Usd::from_nanos(600);
    let again = CallRetried { start, n: 1, why: None, cost, reserved: cost };
    refused(&bench, USE, again, NOT_GRANTED);
    bench.record(USE, ended(start, ModelOutcome::Denied("no".into()), 600)).unwrap();
}
