//! SIGKILL, and a loss of power, at every append of a session that has everything: whatever was on the disk by then,
//! it comes to the same end, and what it did outside was done as often as its entries say.
//!
//! `REWAKE_CRASH_POINTS=all` tries each append in every way, `1/3`, `2/3` and `3/3` in a third of the ways; without it,
//! each is tried in one of them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::preload::{Call, JOURNAL, Preload, Then, WAL};
use rewake_tests::program::Program;
use rewake_wire::Event;
use serde_json::json;

use crate::everything::{IDEMPOTENT, ONCE, REQUESTS, Reference, gist, label, learned, story, words};

/// Tests that share the appends between them, so that they run side by side.
const PARTS: usize = 2;
/// The command whose process leaves the turn waiting for a time.
const WAITS: usize = 3;
/// SQLite's own journal of a file that has no log yet.
const ROLLBACK: &str = "journal.db-journal";

/// Where a process is killed, and how.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Which of the client's commands it is that the process is to do.
    command: usize,
    /// Which sync of the log.
    sync: u64,
    then: Then,
    /// The sync at which the process is killed that loads the session again.
    again: Option<u64>,
    /// Whether it is played on to its end, or only as far as this command goes.
    to_end: bool,
    /// Whether its steps are run again at last: that costs as much as a run.
    replays: bool,
}

/// Which third of the ways is tried, or all of them; none if each append is tried in one way.
fn ways() -> Option<Vec<usize>> {
    match std::env::var("REWAKE_CRASH_POINTS").ok()?.as_str() {
        "all" => Some(vec![0, 1, 2]),
        "1/3" => Some(vec![0]),
        "2/3" => Some(vec![1]),
        "3/3" => Some(vec![2]),
        other => panic!("REWAKE_CRASH_POINTS={other} is not `all` or a third"),
    }
}

fn points(syncs: &[u64], ways: Option<&[usize]>) -> Vec<Point> {
    let is_all = ways.is_some();
    let places =
        syncs.iter().enumerate().flat_map(|(command, syncs)| (1..=*syncs).map(move |sync| (command, sync)));
    let mut points = Vec::new();
    for (n, (command, sync)) in places.enumerate() {
        // What comes after a wait for a time depends on the time: there is no place to stop at.
        let replays = is_all || n % 6 == 0;
        let point = |then, again| {
            let to_end = replays || command >= WAITS;
            Point { command, sync, then, again, to_end, replays }
        };
        let again = 1 + n as u64 / 5 % 3;
        if let Some(ways) = ways {
            for way in ways.iter().map(|third| (third + n) % 3) {
                points.push(point([Then::KillAfter, Then::KillLost, Then::KillTorn][way], None));
                points.push(point(Then::KillAfter, Some(1 + way as u64)));
            }
        } else {
            let then = [Then::KillAfter, Then::KillLost, Then::KillAfter, Then::KillTorn][n % 4];
            points.push(point(then, (n % 5 == 0).then_some(again)));
        }
    }
    points
}

/// Kills at every so manieth append, from one of the first on.
fn killed_at_every_append(part: usize) {
    let reference = Reference::play();
    // It is the session that was meant: what is compared holds all that it was to hold.
    check_calls(&reference.events);
    let asked = reference.server.asked();
    check_effects(&reference, &reference.end, &reference.events, &asked);
    assert!(REQUESTS.iter().all(|request| !made(&asked, request).is_empty()), "{asked:#?}");
    let lines = ONCE.iter().chain(&IDEMPOTENT).map(|line| reference.end.lines(&reference.id, "log", line));
    assert_eq!(lines.collect::<Vec<_>>(), [1; 5]);
    let turns: Vec<u64> = reference.events.of_kind("turn.started").map(|event| event.seq).collect();
    assert!(
        turns.len() == 2 && reference.events.first("snapshot.taken").seq < turns[1],
        "it is loaded from one"
    );
    let points = points(&reference.syncs, ways().as_deref());
    assert!(points.len() > 60, "{:?}", reference.syncs);
    let (mut tried, mut killed, mut killed_again) = (0, 0, 0);
    let to_kill_again = points.iter().skip(part).step_by(PARTS).filter(|point| point.again.is_some()).count();
    for point in points.into_iter().skip(part).step_by(PARTS) {
        tried += 1;
        match catch_unwind(AssertUnwindSafe(|| kill(&reference, point))) {
            Ok((was_killed, was_killed_again)) => {
                killed += usize::from(was_killed);
                killed_again += usize::from(was_killed_again);
            }
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                panic!("killed at {point:?}: {message}");
            }
        }
    }
    // Two commits may have become one, so that the last are not reached; not more than that.
    assert!(killed * 10 >= tried * 9, "only {killed} of {tried} were killed");
    assert!(killed_again * 2 >= to_kill_again, "only {killed_again} of {to_kill_again} were killed again");
}

/// Plays the session with this kill in it, checks what comes of it, and says whether it was killed, and whether who took
/// it up was.
fn kill(reference: &Reference, point: Point) -> (bool, bool) {
    let program = reference.before[point.command].copied();
    let asked_by_others = reference.server.asked().len();
    let command = words(&reference.commands[point.command]);
    let kill = |sync: u64, then: Then| {
        let preload = Preload::new().rule(Call::Sync, WAL, sync..=sync, then);
        // What it wrote to the file meanwhile is lost as well.
        program
            .run_with(&command, &preload.rule(Call::Sync, JOURNAL, 1..=u64::MAX, Then::Note))
            .code
            .is_none()
    };
    let was_killed = kill(point.sync, point.then);
    let was_killed_again = point.again.is_some_and(|again| kill(again, Then::KillAfter));
    let mut expected = reference.events.clone();
    if point.to_end {
        reference.play_on(&program, point.command);
    } else {
        program.run(&command).expect(5);
        expected.0.truncate(reference.heads[point.command]);
    }
    program.run(&["verify", &reference.id]).expect(0);
    if point.replays {
        program.run(&["replay", &reference.id]).expect(0);
    }
    let events = program.events(&reference.id);
    events.check();
    let mut asked = reference.server.asked();
    asked.drain(reference.asked[point.command]..asked_by_others);
    check_calls(&events);
    check_effects(reference, &program, &events, &asked);
    compare(&expected, &events);
    (was_killed, was_killed_again)
}

/// R5: what was in flight at a load is lost if it may not be repeated, else performed again; all else has ended once.
fn check_calls(events: &Events) {
    for start in events.0.iter().filter(|event| {
        event.kind.ends_with(".started") && event.data.get("event").is_some()
            || ["tool.started", "http.started", "model.started"].contains(&event.kind.as_str())
    }) {
        let of_start = |event: &&Event| event.data["start"] == start.seq;
        let end = events.0.iter().find(|event| of_start(event) && event.kind != "call.retried");
        let end = end.unwrap_or_else(|| panic!("{} at {} has no end", start.kind, start.seq));
        let between = &events.0[start.seq as usize..end.seq as usize];
        let loads = between.iter().filter(|event| event.kind == "session.loaded").count();
        let retried = between.iter().filter(of_start).filter(|event| event.kind == "call.retried").count();
        let is_once = start.data["class"] == "once";
        let told = format!("{} at {} ended as {} after {loads} loads", start.kind, start.seq, end.kind);
        assert_eq!(end.kind.ends_with(".lost"), is_once && loads > 0, "{told}");
        assert!(end.data["why"].is_null() || end.data["why"] == "host", "{told}");
        match loads {
            _ if is_once => assert_eq!(retried, 0, "{told}"),
            0 => assert_eq!(retried, 0, "{told}"),
            _ => assert!((1..=loads).contains(&retried), "{told}, and {retried} repeats"),
        }
    }
}

/// What was done outside of the store: as often as the entries say.
fn check_effects(reference: &Reference, program: &Program, events: &Events, asked: &[String]) {
    for line in ONCE.iter().chain(&IDEMPOTENT) {
        let starts: Vec<&Event> = starts_of(events, line).collect();
        check_count(events, &starts, program.lines(&reference.id, "log", line), line);
    }
    for request in REQUESTS {
        let (method, path) = request.split_once(' ').expect("two words");
        let is_it = |event: &&Event| match event.kind.as_str() {
            "http.started" => {
                let url = event.data["request"]["url"].as_str().unwrap_or_default();
                event.data["request"]["method"] == method && url.ends_with(path)
            }
            "tool.started" => path == "/ship" && event.data["name"] == "fetch_once",
            kind => path.starts_with("/v1/") && kind == "model.started",
        };
        let starts: Vec<&Event> = events.0.iter().filter(is_it).collect();
        check_count(events, &starts, made(asked, request).len(), request);
    }
    let put = events.of_kind("http.started").find(|event| event.data["class"] == "idempotent");
    for request in made(asked, "PUT /note") {
        let key = request.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
        assert_eq!(key, put.map(|start| start.hash.as_str()), "the key is the hash of its one start");
    }
}

/// Each start and each repeat is performed once at most; and once at least, unless it was lost.
fn check_count(events: &Events, starts: &[&Event], count: usize, what: &str) {
    let of = |kind: &'static str| {
        let is_of = |event: &&Event| starts.iter().any(|start| event.data["start"] == start.seq);
        events.0.iter().filter(move |event| event.kind.ends_with(kind)).filter(is_of).count()
    };
    let (lost, retried) = (of(".lost"), of(".retried"));
    let range = starts.len() - lost..=starts.len() + retried;
    assert!(
        range.contains(&count),
        "{what} was done {count} times: {} starts, {lost} lost, {retried} repeats",
        starts.len()
    );
}

/// The starts of the tool that is to write this line.
fn starts_of<'a>(events: &'a Events, line: &str) -> impl Iterator<Item = &'a Event> {
    let input = format!("\"line\":{line:?}");
    let uses = events
        .of_kind("tools.requested")
        .flat_map(|event| event.data["uses"].as_array().into_iter().flatten());
    let found = uses.filter(|used| used["input"].as_str().is_some_and(|text| text.contains(&input)));
    let arguments: Vec<_> = found.map(|used| used["arguments"].clone()).collect();
    events.of_kind("tool.started").filter(move |event| arguments.contains(&event.data["arguments"]))
}

fn made<'a>(asked: &'a [String], beginning: &str) -> Vec<&'a String> {
    asked.iter().filter(|request| request.starts_with(&format!("{beginning} "))).collect()
}

/// The same end but for what was lost, which is told as unknown.
fn compare(expected: &Events, events: &Events) {
    assert_eq!(story(events), story(expected));
    let mut missing = gist(expected);
    for (line, count) in gist(events) {
        *missing.entry(line).or_default() -= count;
    }
    missing.retain(|_, count| *count != 0);
    let mut losses = BTreeMap::new();
    let lost = events.0.iter().filter(|event| event.kind.ends_with(".lost"));
    let lost: Vec<String> =
        lost.map(|event| label(events, event.data["start"].as_u64().expect("a start"))).collect();
    for (line, count) in &missing {
        // In place of its end; and hooks hear nothing of a tool that was lost.
        let is_of_loss =
            lost.iter().any(|label| line.contains(label.as_str())) || line.contains("\"PostToolUse\"");
        assert!(is_of_loss, "{count} more were expected of: {line}\n{missing:#?}");
        *losses.entry(count.signum()).or_insert(0) += count;
    }
    let tools = events.count("tool.lost") as isize;
    let expected_losses = (lost.len() as isize + 2 * tools, -(lost.len() as isize));
    let found = (losses.get(&1).copied().unwrap_or(0), losses.get(&-1).copied().unwrap_or(0));
    assert_eq!(found, expected_losses, "{missing:#?}");
    let (learns, expected) = (learned(events), learned(expected));
    assert_eq!(learns.len(), expected.len());
    let lines = learns.iter().flatten().zip(expected.iter().flatten());
    let differ: Vec<_> = lines.filter(|(learns, expected)| learns != expected).collect();
    assert!(differ.iter().all(|(learns, _)| learns.contains(": unknown: ")), "{differ:#?}");
    let is_told = |event: &&Event| {
        event.kind.ends_with(".lost")
            && events.of_kind("turn.completed").any(|end| end.turn_id == event.turn_id)
    };
    assert_eq!(differ.len(), events.0.iter().filter(is_told).count(), "{differ:#?}");
    assert_eq!(
        learns.iter().map(Vec::len).collect::<Vec<_>>(),
        expected.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

/// A09, A13, A16, A48: after a kill at every second append, the journal, the files and the replay are as
/// without it.
#[test]
fn a_session_killed_at_every_other_append_ends_the_same() {
    killed_at_every_append(0);
}

/// A09, A13, A48: the same for the appends in between.
#[test]
fn and_at_those_in_between() {
    killed_at_every_append(1);
}

/// Making the store, and a session in it: there is one or there is none, and the folder is as good as new.
#[test]
fn a_session_whose_making_was_killed_is_there_or_is_not() {
    let files = [WAL, JOURNAL, ROLLBACK];
    let note = files
        .iter()
        .fold(Preload::new(), |preload, file| preload.rule(Call::Sync, file, 1..=u64::MAX, Then::Note));
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    let log = program.beside("syncs");
    program.run_with(&["run", "--grant-asked", &bundle], &note.clone().log(&log)).expect(0);
    let mut made = [0, 0];
    let thens = [Then::KillAfter, Then::KillLost, Then::KillTorn];
    let places =
        files.map(|file| (1..=Preload::noted(&log, Call::Sync, file) as u64).map(move |sync| (file, sync)));
    for (n, (file, sync)) in places.into_iter().flatten().enumerate() {
        let then = thens[n % thens.len()];
        let program = Program::new();
        let kill = Preload::new().rule(Call::Sync, file, sync..=sync, then);
        let others = files.iter().filter(|other| **other != file);
        let kill = others.fold(kill, |kill, file| kill.rule(Call::Sync, file, 1..=u64::MAX, Then::Note));
        let ended = program.run_with(&["run", "--grant-asked", &bundle], &kill);
        assert_eq!(ended.code, None, "{file} {sync} {then:?}");
        let again = program.run(&["run", "--grant-asked", &bundle]).expect(0);
        let sessions = program.sessions();
        assert!(sessions.iter().any(|session| session.id == again.stdout.trim()));
        made[sessions.len() - 1] += 1;
        for session in &sessions {
            let told =
                program.tell(&session.id, &json!([{ "op": "say", "text": "here" }]).to_string()).expect(0);
            assert!(told.stdout.contains("here"), "{file} {sync} {then:?}: {}", told.stdout);
        }
        program.run(&["verify"]).expect(0);
    }
    assert!(made.iter().all(|count| *count > 0), "{made:?} with one session and with two");
}
