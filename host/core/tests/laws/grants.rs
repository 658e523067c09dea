//! Grants in force (R11): the pin is the ceiling, and every change below it is an entry.

use rewake_core::codec::{Seal, seal};
use rewake_core::decide::{InForce, Input};
use rewake_core::fact::{Created, Fact, GrantsChanged, GrantsWhy};
use rewake_core::grant::{Access, FsGrant, FsSource, Grants};
use rewake_core::ids::Timestamp;
use rewake_core::{Session, decide};

use crate::pins;

/// The index of the tools among the components.
const TOOLS: u32 = 1;

fn mount(access: Access) -> Grants {
    let grant = FsGrant { mount: "/workspace".into(), source: FsSource::Workspace, access };
    Grants { fs: vec![grant], http: vec![] }
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

fn now(tools: Grants) -> Input {
    Input::Grants(vec![in_force(Grants::default()), in_force(tools), in_force(Grants::default())])
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
