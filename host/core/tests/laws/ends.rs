//! How calls, steps, turns and sessions end: each with all that must stand before it, and with what the next step is
//! told of it (R1, R5, R9).

use rewake_core::decide;
use rewake_core::decide::{Input, LoadInput, StepEnd, StepOutcome, Then};
use rewake_core::effect::Effect;
use rewake_core::entry::Place;
use rewake_core::fact::{
    AgentMessage, CallRetried, Decision as Verdict, Ending, Fact, HookEvent, HookPin, HookStarted,
    HookVerdict, HttpLost, HttpRequest, HttpStarted, LogLevel, LogLine, LogLines, Lost, ModelLost, Next,
    Observed, OnError, Question, Scope, Source, StepObserved, ToolLost, Unfinished,
};
use rewake_core::firing::{FiringStart, Occasion};
use rewake_core::ids::{Digest, Timestamp};
use rewake_core::limits::HOOK_TEXT_CHARS_MAX;
use rewake_wire::{Actor, ActorType, Part, Sender};

use crate::bench::{Bench, STEP, USE, bound, ended, hook_started, kinds, load, message};
use crate::pins::{ADVISER, GREETER, GUARD, SETUP, WELCOME};
use rewake_core::command::{Command, Row};
use rewake_core::limits::{ID_BYTES_MAX, QUESTION_BYTES_MAX};

fn interrupt() -> Vec<Command> {
    vec![Command::Interrupt { turn: 1 }]
}

fn with_stop_hook(mut bench: Bench) -> Bench {
    let pins = &mut bench.session.created.as_mut().expect("it is created").hooks;
    let (event, matcher, on_error) = (HookEvent::Stop, String::new(), OnError::Deny);
    pins.push(HookPin {
        component: 2,
        event,
        matcher,
        on_error,
        timeout_ms: 1,
        rewrites: false,
        operator: false,
    });
    bench
}

/// The verdict of a hook that never came to one.
fn lost(start: u64, hook: u32, decision: Verdict, binding: Digest, error: &str) -> HookVerdict {
    let reason = (decision != Verdict::None).then(|| "the hook's answer was lost".to_owned());
    let error = Some(error.to_owned());
    HookVerdict { start, hook, decision, reason, binding, error, ..HookVerdict::default() }
}

#[test]
fn an_interrupt_closes_what_is_open_as_what_it_is() {
    let why = Lost::Interrupted;
    let ran = "the turn ended while it ran";
    let (tool, start) = Bench::started("put");
    let mut cases: Vec<(Bench, Fact)> = vec![(tool, ToolLost { start, why }.into())];
    let (model, start) = Bench::asking();
    cases.push((model, ModelLost::new(start, why).into()));
    let mut http = Bench::in_step();
    let digest = Digest::of(b"request");
    let (method, url) = ("GET".to_owned(), "https://example.com/".to_owned());
    let request =
        HttpRequest { method, url, headers: vec![], body: digest, bytes: 0, digest, arguments: digest };
    let body = HttpStarted { request, asked: None, class: Effect::Pure, hooks: vec![], verdicts: vec![] };
    let start = http.record(USE, body).unwrap();
    cases.push((http, HttpLost { start, why, refused: None }.into()));
    for (hook, decision) in [(GUARD, Verdict::Deny), (ADVISER, Verdict::None)] {
        let mut bench = Bench::requested("send", &[hook]);
        let start = bench.record(USE, hook_started(hook, bound("send"))).unwrap();
        cases.push((bench, lost(start, hook, decision, bound("send"), ran).into()));
    }
    for (mut bench, end) in cases {
        let due = bench.due(interrupt());
        assert!(due.drops_guest);
        let expected = ["user.interrupt", end.kind(), "step.aborted", "turn.interrupted"];
        assert_eq!(kinds(&due.entries), expected);
        assert_eq!((due.entries[1].place, &due.entries[1].fact), (USE, &end));
        bench.add_all(due.entries).unwrap();
        let told =
            Unfinished { turn: 1, how: Ending::Interrupted, first_seq: 3, last_seq: bench.session.head.seq };
        assert_eq!(bench.session.pending.unfinished, Some(told));
    }
}

/// A Stop hook that would have wanted the turn to go on has nothing to say once the turn is ended.
#[test]
fn a_stop_hook_whose_answer_is_lost_blocks_nothing() {
    let mut bench = with_stop_hook(Bench::in_step());
    bench.ends(Next::Done);
    let Then::Fire(firings) = bench.due(vec![]).then else { panic!("a hook is due") };
    let start = bench.record(firings[0].place, firings[0].started()).unwrap();
    let due = bench.due(interrupt());
    let expected = lost(start, 5, Verdict::None, firings[0].binding, "the turn ended while it ran");
    assert_eq!(due.entries[1].fact, expected.into());
}

/// Nobody was told yet of the first of two turns that ended badly: the range covers both.
#[test]
fn what_is_unfinished_reaches_back_to_what_nobody_was_told_of() {
    let mut bench = Bench::in_turn();
    for turn in 1..=2 {
        let due = bench.due(vec![Command::Interrupt { turn }]);
        bench.add_all(due.entries).unwrap();
        let opened = bench.due_at(1_000, vec![message(10 + u64::from(turn)), message(20 + u64::from(turn))]);
        bench.add_all(opened.entries).unwrap();
    }
    let unfinished = bench.session.pending.unfinished.as_ref().expect("turns were interrupted");
    assert_eq!((unfinished.turn, unfinished.first_seq), (2, 3));
    let open = bench.session.turn.as_ref().expect("the third is open");
    assert_eq!((open.number, open.first_seq), (3, bench.session.head.seq - 2));
}

#[test]
fn the_agent_s_last_words_are_kept_for_stop_hooks_only() {
    let json = Part::Json { json: "{}".into() };
    let say = |text: &str| AgentMessage::new(vec![Part::text(text), json.clone(), Part::text("b")]);
    for (bench, keeps) in [(Bench::in_step(), false), (with_stop_hook(Bench::in_step()), true)] {
        let mut bench = bench;
        let said = |bench: &Bench| bench.session.turn.as_ref().and_then(|turn| turn.said.clone());
        bench.record(USE, say("a")).unwrap();
        assert_eq!(said(&bench), keeps.then(|| "a\nb".to_owned()));
        bench.record(Place { ordinal: 2, ..USE }, say(&"x".repeat(HOOK_TEXT_CHARS_MAX))).unwrap();
        assert_eq!(said(&bench), keeps.then(|| "x".repeat(HOOK_TEXT_CHARS_MAX)));
    }
}

#[test]
fn a_step_s_end_tells_what_it_observed_and_logged_since_its_last_call() {
    let line = LogLine { level: LogLevel::Info, text: "done".into() };
    let logs = LogLines { component: "laws/agent:loop".into(), lines: vec![line], dropped: 0 };
    let end = StepEnd {
        ordinal: 4,
        observed: vec![Observed::Wall(1, 2)],
        logs: Some(logs.clone()),
        ..ended(Next::Done)
    };
    let entries = decide(&Bench::in_step().session, Input::StepEnd(end)).unwrap().entries;
    assert_eq!(kinds(&entries), ["step.observed", "log.lines", "step.completed", "turn.completed"]);
    let places: Vec<_> = entries.iter().map(|draft| draft.place).collect();
    assert_eq!(places, [Place { ordinal: 4, ..STEP }, STEP, STEP, Place::turn(1)]);
    assert_eq!(entries[1].fact, Fact::from(logs));
    let quiet = decide(&Bench::in_step().session, Input::StepEnd(ended(Next::More))).unwrap().entries;
    assert_eq!(kinds(&quiet), ["step.completed"]);
}

/// R1: the end of a session answers every row, and none that is taken already.
#[test]
fn a_session_that_fails_answers_the_rows_that_are_left() {
    let outcome = StepOutcome::Broken {
        how: Ending::Failed,
        scope: Scope::Session,
        code: "ruined".into(),
        detail: "for good".into(),
    };
    let end = StepEnd { outcome, rows: vec![message(1), message(2)], ..ended(Next::More) };
    let mut bench = Bench::in_step();
    let entries = decide(&bench.session, Input::StepEnd(end)).unwrap().entries;
    assert_eq!(kinds(&entries), ["step.aborted", "command.rejected", "session.failed", "turn.failed"]);
    assert_eq!(entries[1].fact.rows().collect::<Vec<_>>(), [2]);
    bench.add_all(entries).unwrap();
    assert_eq!(bench.due(vec![]).then, Then::Ended);
}

#[test]
fn a_wish_that_cannot_come_true_is_refused() {
    let session = Bench::in_step().session;
    let refused = |next| decide(&session, Input::StepEnd(ended(next))).unwrap_err().to_string();
    let nothing = refused(Next::Wait { until: None, on_message: false });
    assert!(nothing.contains("neither a time nor a message"), "{nothing}");
    let question = |text: usize, choices: usize, schema: usize| Question {
        id: "q".repeat(ID_BYTES_MAX),
        text: "t".repeat(text),
        choices: vec!["c".repeat(choices / 2), "c".repeat(choices - choices / 2)],
        schema: Some("s".repeat(schema)),
    };
    let third = QUESTION_BYTES_MAX / 4;
    for (text, choices, schema) in [(2 * third, third, third), (third, 2 * third, third)] {
        decide(&session, Input::StepEnd(ended(Next::Ask(vec![question(text, choices, schema)])))).unwrap();
        let over = refused(Next::Ask(vec![question(text, choices, schema + 1)]));
        assert!(over.contains("has 65537 bytes"), "{over}");
    }
}

/// R7: the monotonic clock goes on from its greatest reading, and by the time that has passed since the newest.
#[test]
fn a_monotonic_clock_goes_on_and_never_back() {
    let mut bench = Bench::in_step();
    assert_eq!(bench.session.monotonic_ns(Timestamp(9_999)), 0, "it begins with its first reading");
    let items = vec![Observed::Wall(70, 70), Observed::Monotonic(50), Observed::Monotonic(40)];
    bench.record(STEP, StepObserved { items }).unwrap();
    for (now, ns) in [(1_000, 50), (1_003, 3_000_050), (999, 50), (i64::MIN, 50)] {
        assert_eq!(bench.session.monotonic_ns(Timestamp(now)), ns);
    }
    bench.record(STEP, StepObserved { items: vec![Observed::Deadline(60, 900)] }).unwrap();
    assert_eq!(bench.session.monotonic_ns(Timestamp(1_000)), 60);
}

/// Hooks of the start: `startup` is asked again with the key it has, `resume` belongs to its load.
#[test]
fn a_load_settles_the_hooks_of_the_start() {
    let mut bench = Bench::in_turn();
    let due = |bench: &mut Bench| match bench.due(vec![]).then {
        Then::Fire(firings) => firings,
        other => panic!("hooks are due, not {other:?}"),
    };
    let first = due(&mut bench)[0];
    assert_eq!((first.hook, first.occasion), (GREETER, Occasion::Start(Source::Startup)));
    let start = bench.record(first.place, first.started()).unwrap();
    let key = bench.session.calls[&start].key;
    let entries = bench.load();
    assert_eq!(kinds(&entries), ["session.loaded"]);
    assert!(matches!(&entries[0].fact, Fact::SessionLoaded(body) if body.source == Source::Resume));
    let again = |next_try| Some(FiringStart { seq: start, key, next_try });
    assert_eq!(due(&mut bench)[0].start, again(Some(1)));
    for n in 1..=2 {
        bench.record(first.place, CallRetried::again(start, n)).unwrap();
    }
    assert_eq!(due(&mut bench)[0].start, again(None), "it was tried as often as it may be");

    let told: Vec<_> = due(&mut bench).iter().map(|firing| firing.hook).collect();
    assert_eq!(told, [GREETER, SETUP, WELCOME]);
    let welcome = due(&mut bench)[2];
    assert_eq!(welcome.occasion, Occasion::Start(Source::Resume));
    let start = bench.record(welcome.place, welcome.started()).unwrap();
    let rejected = vec![(7, "it does not decode".to_owned())];
    let entries = decide(&bench.session, Input::Load(LoadInput { rejected, ..load() })).unwrap().entries;
    assert_eq!(kinds(&entries), ["snapshot.rejected", "hook.verdict", "session.loaded"]);
    let died = lost(start, WELCOME, Verdict::None, welcome.binding, "the host died while it ran");
    assert_eq!((entries[1].place, &entries[1].fact), (Place::default(), &died.into()));
    bench.add_all(entries).unwrap();
    let anew = due(&mut bench)[2];
    assert_eq!((anew.hook, anew.start), (WELCOME, None));
    assert_ne!(anew.binding, welcome.binding, "another load");
}

/// An agent cannot approve itself, nor can a trigger for it.
#[test]
fn only_operators_answer_hooks_and_anyone_a_harness() {
    let senders = [
        (Sender::Operator("ada".into()), Actor::new(ActorType::Operator, "ada")),
        (Sender::Agent("ses_2".into()), Actor::new(ActorType::Agent, "ses_2")),
        (Sender::Trigger("daily".into()), Actor::new(ActorType::Trigger, "daily")),
        (Sender::System, Actor::new(ActorType::System, "host")),
    ];
    let mut held = Bench::requested("send", &[GUARD]);
    held.judge(GUARD, Verdict::Ask, bound("send"));
    let id = rewake_core::question_id(USE);
    let question = |id: &str| Question { id: id.into(), text: "?".into(), choices: vec![], schema: None };
    let asked = rewake_core::fact::QuestionAsked {
        question: question(&id),
        by: rewake_core::fact::Asker::Hook(GUARD),
    };
    held.record(USE, asked).unwrap();
    let mut asking = Bench::in_step();
    asking.ends(Next::Ask(vec![question("q")]));
    for (sender, actor) in senders {
        let row = |question: &str| {
            let command = Command::Answer { question: question.into(), value: "1".into() };
            vec![Row { n: 2, sender: sender.clone(), command }]
        };
        let answered = asking.due_at(1_000, row("q")).entries;
        assert_eq!((kinds(&answered), answered[0].place), (vec!["user.answer"], Place::turn(1)));
        assert_eq!(answered[0].actor, actor);
        let is_operator = actor.kind == ActorType::Operator;
        let expected = if is_operator { "user.answer" } else { "command.rejected" };
        assert_eq!(kinds(&held.due_at(1_000, row(&id)).entries), [expected]);
    }
}

/// What a firing says of itself in the journal, for each thing a session asks about.
#[test]
fn a_firing_names_what_it_is_about() {
    let with = |mut bench: Bench, event| {
        let pins = &mut bench.session.created.as_mut().expect("it is created").hooks;
        pins[GUARD as usize].event = event;
        bench.session.load.stepped = true;
        bench
    };
    let fired = |bench: &mut Bench| match bench.due(vec![]).then {
        Then::Fire(firings) => firings[0].started(),
        other => panic!("a hook is due, not {other:?}"),
    };
    let mut prompt = with(Bench::in_turn(), HookEvent::UserPromptSubmit);
    let started = fired(&mut prompt);
    let expected = HookStarted {
        hook: GUARD,
        event: HookEvent::UserPromptSubmit,
        source: None,
        message: Some(1),
        binding: started.binding,
    };
    assert_eq!(started, expected);
    let mut stopping = with(Bench::in_step(), HookEvent::Stop);
    stopping.ends(Next::Done);
    let started = fired(&mut stopping);
    assert_eq!((started.event, started.message, started.source), (HookEvent::Stop, None, None));
    let mut ending = with(Bench::loaded(), HookEvent::SessionEnd);
    let due = ending.due(vec![Command::Stop { reason: "enough".into() }]);
    ending.add_all(due.entries).unwrap();
    let started = fired(&mut ending);
    assert_eq!((started.event, started.message, started.source), (HookEvent::SessionEnd, None, None));
}
