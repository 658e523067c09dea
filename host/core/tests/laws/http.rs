//! Requests of a harness: what the gate lets be recorded, and what a load makes of one without an end.

use rewake_core::decide::{Input, LoadInput};
use rewake_core::effect::Effect;
use rewake_core::entry::Place;
use rewake_core::fact::{
    CallRetried, Changes, Decision as Verdict, Fact, HookEvent, HookStarted, HookVerdict, HttpCompleted,
    HttpLost, HttpOutcome, HttpRequest, HttpStarted, Lost, ModelLost,
};
use rewake_core::ids::{Digest, HostId};
use rewake_core::{Refusal, binding, canonical, decide};

use crate::bench::{Bench, USE, hook_started, verdict};
use crate::pins::{self, ADVISER, GUARD};

const NOT_PASSED: &str = "a hook that must judge the request has not let it pass";
const BEGUN: &str = "the request was started or refused before";

fn request(method: &str) -> HttpRequest {
    HttpRequest {
        method: method.into(),
        url: "https://api.example.com/".into(),
        headers: vec![],
        body: Digest::of(b""),
        bytes: 0,
        digest: Digest::of(method.as_bytes()),
        arguments: Digest::of(b"shown"),
    }
}

fn started(method: &str, class: Effect) -> HttpStarted {
    HttpStarted { request: request(method), asked: None, class, hooks: vec![], verdicts: vec![] }
}

fn completed(start: Option<u64>, outcome: HttpOutcome) -> HttpCompleted {
    let request = start.is_none().then(|| request("GET"));
    HttpCompleted { start, request, outcome, ms: 1 }
}

fn bound(place: Place, method: &str) -> Digest {
    let request = request(method);
    binding(&pins::session(), place, "http", request.digest, request.arguments)
}

fn refused(bench: &Bench, place: Place, fact: impl Into<Fact>, why: &'static str) {
    let mut tried = bench.clone();
    assert_eq!(tried.record(place, fact), Err(Refusal::Rule(why)));
    assert_eq!(tried.session, bench.session);
}

#[test]
fn a_request_is_started_and_ended_once() {
    let mut bench = Bench::in_step();
    let start = bench.record(USE, started("GET", Effect::Pure)).unwrap();
    refused(&bench, USE, started("GET", Effect::Pure), BEGUN);
    refused(&bench, USE, completed(None, HttpOutcome::Denied("no".into())), BEGUN);
    refused(&bench, USE, ModelLost::new(start, Lost::Host), "an end of another kind");
    bench.record(USE, completed(Some(start), HttpOutcome::TimedOut)).unwrap();
    assert!(bench.session.calls.is_empty());
    refused(
        &bench,
        USE,
        HttpLost { start, why: Lost::Host, refused: None },
        "an end needs an open start at the same place",
    );
    refused(&bench, USE, started("GET", Effect::Pure), BEGUN);
    let gap = Place { ordinal: 3, ..USE };
    let denied = completed(None, HttpOutcome::Denied("no".into()));
    for first in [Fact::from(started("GET", Effect::Pure)), denied.into()] {
        refused(&bench, gap, first, "the calls of a step are numbered without gaps");
    }
    bench.record(Place { ordinal: 2, ..USE }, started("GET", Effect::Pure)).unwrap();
}

#[test]
fn a_refused_request_says_what_it_was_and_is_never_started() {
    let mut bench = Bench::in_step();
    let only_refused = "a request that was not started can only have been refused";
    refused(&bench, USE, completed(None, HttpOutcome::TimedOut), only_refused);
    let unsaid = HttpCompleted { request: None, ..completed(None, HttpOutcome::Denied("no".into())) };
    refused(&bench, USE, unsaid, only_refused);
    bench.record(USE, completed(None, HttpOutcome::Denied("no".into()))).unwrap();
    refused(&bench, USE, started("GET", Effect::Pure), BEGUN);
}

/// R5: the class follows from the method; no grant of the harness says that a receiver honours the key.
#[test]
fn a_request_is_of_no_safer_class_than_its_method() {
    let bench = Bench::in_step();
    for (method, class) in [
        ("POST", Effect::Pure),
        ("POST", Effect::Idempotent),
        ("PUT", Effect::Idempotent),
        ("DELETE", Effect::Pure),
    ] {
        let why = "a request is of no safer class than its method and its grant allow";
        refused(&bench, USE, started(method, class), why);
    }
    for (method, class) in [("POST", Effect::Once), ("PUT", Effect::Once), ("HEAD", Effect::Pure)] {
        bench.clone().record(USE, started(method, class)).unwrap();
    }
}

#[test]
fn a_request_starts_only_after_every_hook_that_was_asked_let_it_pass() {
    let mut bench = Bench::in_step();
    let none = "the hook is none of those that must judge a request";
    let asked = hook_started(GUARD, bound(USE, "GET"));
    refused(&bench, USE.at_index(1), asked.clone(), none);
    refused(&bench, USE, HookStarted { event: HookEvent::PostToolUse, ..asked }, none);
    let named = HttpStarted { hooks: vec![GUARD], ..started("GET", Effect::Pure) };
    refused(&bench, USE, named.clone(), NOT_PASSED);
    let seq = bench.judge(GUARD, Verdict::Allow, bound(USE, "GET"));
    let again = hook_started(GUARD, bound(USE, "GET"));
    refused(&bench, USE, again, "the hook was asked about the request before");
    refused(&bench, USE, started("GET", Effect::Pure), NOT_PASSED);
    refused(&bench, USE, HttpStarted { verdicts: vec![seq], ..started("POST", Effect::Once) }, NOT_PASSED);
    bench.record(USE, HttpStarted { verdicts: vec![seq], ..named }).unwrap();

    let mut denied = Bench::in_step();
    let seq = denied.judge(GUARD, Verdict::Deny, bound(USE, "GET"));
    refused(&denied, USE, HttpStarted { verdicts: vec![seq], ..started("GET", Effect::Pure) }, NOT_PASSED);
    denied.record(USE, completed(None, HttpOutcome::Denied("no".into()))).unwrap();
}

/// R5: at a load what may not be repeated is lost; the rest is sent again.
#[test]
fn a_load_settles_requests_by_their_class() {
    for (method, class, is_lost) in [("GET", Effect::Pure, false), ("POST", Effect::Once, true)] {
        let mut bench = Bench::in_step();
        let start = bench.record(USE, started(method, class)).unwrap();
        let load = LoadInput {
            host: HostId::parse("host_other").unwrap(),
            host_version: "0.1.0".into(),
            snapshot_seq: None,
            folded: 1,
            rejected: vec![],
            again: None,
        };
        let decision = decide(&bench.session, Input::Load(load)).unwrap();
        let lost = decision.entries.iter().any(|draft| {
            draft.fact == Fact::from(HttpLost { start, why: Lost::Host, refused: None }) && draft.place == USE
        });
        assert_eq!(lost, is_lost, "{method}");
        bench.add_all(decision.entries).unwrap();
        let again = bench.record(USE, CallRetried::again(start, 1));
        assert_eq!(again.is_err(), is_lost, "{method}");
    }
}

/// A hook that may replace the input has: what is sent is what it made of it, judged as that by the others.
#[test]
fn a_request_starts_as_what_a_hook_made_of_it() {
    let mut bench = Bench::in_step();
    let created = bench.session.created.as_mut().unwrap();
    created.hooks[ADVISER as usize].rewrites = true;
    let input = r#"{"url":"https://other.example/"}"#;
    let arguments = canonical::digest(input).unwrap();
    let start = bench.record(USE, hook_started(ADVISER, bound(USE, "GET"))).unwrap();
    let changes = Changes { input: Some(input.into()), ..Changes::default() };
    let made = HookVerdict { changes, ..verdict(start, ADVISER, Verdict::None, bound(USE, "GET")) };
    let first = bench.record(USE, made).unwrap();

    let sent = HttpRequest { arguments, ..request("GET") };
    let rewritten = HttpStarted {
        request: sent.clone(),
        asked: Some(request("GET").arguments),
        verdicts: vec![first],
        ..started("GET", Effect::Pure)
    };
    let as_asked = HttpStarted { verdicts: vec![first], ..started("GET", Effect::Pure) };
    let only = "a request may start only as it was asked for, or as a hook replaced it";
    refused(&bench, USE, as_asked, only);
    let other = HttpRequest { arguments: Digest::of(b"other"), ..request("GET") };
    refused(&bench, USE, HttpStarted { request: other, ..rewritten.clone() }, only);
    refused(&bench, USE, HttpStarted { asked: None, ..rewritten.clone() }, NOT_PASSED);
    bench.clone().record(USE, rewritten.clone()).unwrap();

    // One that judged what was asked for has not judged what is sent.
    let mut early = bench.clone();
    let seq = early.judge(GUARD, Verdict::Allow, bound(USE, "GET"));
    refused(&early, USE, HttpStarted { verdicts: vec![first, seq], ..rewritten.clone() }, NOT_PASSED);
    let binding = binding(&pins::session(), USE, "http", sent.digest, sent.arguments);
    let seq = bench.judge(GUARD, Verdict::Allow, binding);
    refused(&bench, USE, rewritten.clone(), NOT_PASSED);
    bench.record(USE, HttpStarted { verdicts: vec![first, seq], ..rewritten }).unwrap();
}
