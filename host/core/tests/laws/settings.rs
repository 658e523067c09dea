//! What operators change of a session: its labels and its cap.

use std::collections::BTreeMap;

use rewake_core::command::Command;
use rewake_core::decide::Input;
use rewake_core::entry::Place;
use rewake_core::fact::{BudgetChanged, Created, SessionLabelled};
use rewake_core::limits::{LABEL_KEY_BYTES_MAX, LABEL_VALUE_BYTES_MAX, LABELS_MAX};
use rewake_core::money::Usd;
use rewake_core::{Refusal, Session, decide};
use rewake_wire::Sender;

use crate::bench::{Bench, kinds, model_started};
use crate::pins;

fn ada() -> Sender {
    Sender::Operator("ada".into())
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn usd(nanos: u64) -> Option<Usd> {
    Some(Usd::from_nanos(nanos))
}

fn label(pairs: &[(&str, &str)]) -> Input {
    Input::Label { labels: labels(pairs), by: ada() }
}

fn budget(max_usd: Option<Usd>) -> Input {
    Input::Budget { max_usd, by: ada() }
}

/// Decides and folds; returns the kinds of what was appended.
fn change(bench: &mut Bench, input: Input) -> Vec<String> {
    let entries = decide(&bench.session, input).unwrap().entries;
    let kinds = kinds(&entries).into_iter().map(str::to_owned).collect();
    bench.add_all(entries).unwrap();
    kinds
}

#[test]
fn labels_are_changed_as_a_whole_and_only_if_they_differ() {
    let mut bench = Bench::loaded();
    assert!(bench.session.labels().is_empty());
    assert_eq!(change(&mut bench, label(&[("team", "a")])), ["session.labelled"]);
    assert_eq!(bench.session.labels(), &labels(&[("team", "a")]));
    assert_eq!(change(&mut bench, label(&[("team", "a")])), [""; 0]);
    let stop = bench.due(vec![Command::Stop { reason: "enough".into() }]);
    bench.add_all(stop.entries).unwrap();
    assert_eq!(change(&mut bench, label(&[])), ["session.labelled"], "an ended session is labelled too");
    // The first labels are those of the creation.
    let mut created = Session::new(pins::session());
    created.created = Some(Box::new(Created { labels: labels(&[("k", "v")]), ..pins::created() }));
    assert_eq!(created.labels(), &labels(&[("k", "v")]));
}

#[test]
fn labels_are_bounded() {
    let bench = Bench::loaded();
    let refused = |labels: BTreeMap<String, String>| {
        let label = decide(&bench.session, Input::Label { labels: labels.clone(), by: ada() });
        let pins = Created { labels, ..pins::created() };
        let create = decide(&Session::new(pins::session()), Input::Create(Box::new(pins)));
        assert_eq!(label.is_err(), create.is_err());
        matches!(label, Err(Refusal::Limit { .. }))
    };
    let many = |count: usize| (0..count).map(|at| (format!("k{at}"), String::new())).collect();
    assert!(!refused(many(LABELS_MAX)) && refused(many(LABELS_MAX + 1)));
    for (key, value, is_refused) in [
        (LABEL_KEY_BYTES_MAX, LABEL_VALUE_BYTES_MAX, false),
        (LABEL_KEY_BYTES_MAX + 1, 0, true),
        (0, LABEL_VALUE_BYTES_MAX + 1, true),
    ] {
        assert_eq!(refused(labels(&[(&"k".repeat(key), &"v".repeat(value))])), is_refused);
    }
}

#[test]
fn a_cap_is_changed_by_operators_and_in_force_at_once() {
    let over = Refusal::Rule("a model is asked only if its cost is sure to stay within the session's cap");
    let asks = |bench: &Bench, reserved| {
        let mut started = model_started();
        started.reserved = Usd::from_nanos(reserved);
        bench.clone().record(crate::bench::USE, started).map(drop)
    };
    let mut bench = Bench::in_step();
    assert_eq!(bench.session.max_usd(), None);
    assert_eq!(change(&mut bench, budget(usd(1_000))), ["budget.changed"]);
    assert_eq!((asks(&bench, 1_000), asks(&bench, 1_001)), (Ok(()), Err(over.clone())));
    // Raising it lets a session at its cap spend again.
    assert_eq!(change(&mut bench, budget(usd(1_001))), ["budget.changed"]);
    assert_eq!(asks(&bench, 1_001), Ok(()));
    assert_eq!(change(&mut bench, budget(usd(1_001))), [""; 0]);
    assert_eq!(change(&mut bench, budget(None)), ["budget.changed"]);
    assert_eq!(asks(&bench, u64::MAX), Ok(()));
    let only = Refusal::Rule("only an operator changes what a session may spend");
    for by in [Sender::Agent("ses_2".into()), Sender::Trigger("hourly".into()), Sender::System] {
        let input = Input::Budget { max_usd: usd(5), by };
        assert_eq!(decide(&bench.session, input), Err(only.clone()));
    }
    let mut ended = Bench::loaded();
    let stop = ended.due(vec![Command::Stop { reason: "enough".into() }]);
    ended.add_all(stop.entries).unwrap();
    assert!(matches!(decide(&ended.session, budget(usd(5))), Err(Refusal::Ended { .. })));
    assert!(matches!(decide(&Session::new(pins::session()), budget(usd(5))), Err(Refusal::Conflict(_))));
}

#[test]
fn a_change_from_something_else_is_corrupt() {
    let bench = Bench::loaded();
    let place = Place::default();
    let what = |fact: Result<u64, rewake_core::Corrupt>| fact.unwrap_err().what;
    let labelled = SessionLabelled { before: labels(&[("k", "v")]), after: labels(&[]) };
    assert!(what(bench.clone().add(place, labelled)).ends_with("other labels than the session has"));
    let changed = |from, by| BudgetChanged { from, to: usd(2), by };
    assert!(what(bench.clone().add(place, changed(usd(1), ada()))).ends_with("another cap than is in force"));
    let by_itself = changed(None, Sender::Agent("ses_laws".into()));
    assert!(what(bench.clone().add(place, by_itself)).ends_with("changes what a session may spend"));
    bench.clone().add(place, changed(None, ada())).unwrap();
}
