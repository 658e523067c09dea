//! A session that is talked to at a terminal, as a person meets it. The same conversation is had at a pseudo-terminal
//! of the system's, whose bytes an emulator reads, and in tmux.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::thread;
use std::time::{Duration, Instant};

use rewake_tests::bundles::{Draft, root};
use rewake_tests::program::{Program, Signal};
use rewake_tests::terminal::Terminal;
use rewake_tests::tmux::Tmux;
use rewake_tests::world::HANGS;

const ON: &str = "[[component.probe.on]]\nevent = \"PreToolUse\"";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";

const SCRIPT: &str = r##"
[[reply]]
text = "# Plan\n\nI will append **a line** and then look.\n"
use = [
  { tool = "sleep_pure", input = { ms = 300 } },
  { tool = "append_idempotent", input = { path = "/workspace/log", line = "one" } },
  { tool = "append_once", input = { path = "/workspace/log", line = "x" } },
]
delay_ms = 600

[[reply]]
text = "It is `done`, and [31m stays as it is.\n"

[[reply]]
text = "word one two three four five six seven eight nine ten"
delay_ms = 4000

[[reply]]
text = "Welcome back."
"##;

/// A terminal that somebody sits at.
trait Person {
    fn press(&mut self, keys: &str);
    fn picture(&self) -> String;

    /// Waits until all of these are to be seen.
    #[track_caller]
    fn sees(&mut self, all: &[&str]) -> String {
        self.waits(&format!("{all:?}"), &|picture| all.iter().all(|words| picture.contains(words)))
    }

    /// Waits until this is to be seen at two places.
    #[track_caller]
    fn sees_twice(&mut self, words: &str) {
        self.waits(words, &|picture| picture.matches(words).count() == 2);
    }

    #[track_caller]
    fn waits(&mut self, what: &str, is_so: &dyn Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + HANGS;
        loop {
            let picture = self.picture();
            if is_so(&picture) {
                return picture;
            }
            assert!(Instant::now() < deadline, "{what} never comes; what is seen:\n{picture}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Person for Terminal {
    fn press(&mut self, keys: &str) {
        self.presses(keys);
    }

    fn picture(&self) -> String {
        Terminal::picture(self)
    }
}

impl Person for Tmux {
    fn press(&mut self, keys: &str) {
        self.presses(keys);
    }

    fn picture(&self) -> String {
        Tmux::picture(self)
    }
}

/// An assistant with tools of which one is asked about.
fn bundle(script: &str) -> Draft {
    let harness = root().join("plugins/assistant/assistant.wasm");
    let harness = std::fs::read(&harness)
        .unwrap_or_else(|error| panic!("{}: {error}; build it with `cargo xtask guests`", harness.display()));
    let toml = "[component.harness]\nkind = \"harness\"\nsource = \"harness.wasm\"\nstate_version = 1";
    let draft = Draft::new("test/talk").toml(toml).file("harness.wasm", harness);
    let agent = "[agent]\ninstructions = \"Be brief.\"\nmodel = \"scripted\"\nscript = \"script.toml\"";
    let draft = draft.toml(agent).file("script.toml", script);
    draft.tools("tool_probe", "rw").hook(&[("ask", "append_once")], ON)
}

/// The first part: a turn with tools and a question, one that is interrupted, one that is not, and out.
fn converse(person: &mut dyn Person) {
    person.sees(&["›", "scripted · /help"]);
    person.press("please\r");
    let early = person.sees(&["› please", "I will append", "writes"]);
    assert!(!early.contains("append_once"), "the text comes before the tools:\n{early}");

    let asked = person.sees(&["? May append_once run?", "1) allow   2) deny", "answer›"]);
    assert_eq!(asked.matches("I will append a line and then look.").count(), 1, "{asked}");
    assert!(asked.contains("  Plan") && !asked.contains("**"), "Markdown is shown as it is meant:\n{asked}");
    assert!(asked.contains("→ append_once /workspace/log \"x\" …"), "{asked}");
    person.press("7\r");
    person.sees(&["answer with a number, or one of: allow, deny"]);
    person.press("1\r");
    let done = person.sees(&["It is done, and [31m stays as it is.", "turn 1 done"]);
    for line in [
        "✓ sleep_pure ms=300 3",
        "✓ append_idempotent /workspace/log \"one\" ",
        "✓ append_once /workspace/log \"x\" ",
    ] {
        assert_eq!(done.matches(line).count(), 1, "{line}\n{done}");
    }
    assert!(!done.contains('→') && done.contains("› allow"), "what ran is folded:\n{done}");

    person.press("go on\r");
    person.sees(&["word one", "Ctrl-C interrupts"]);
    person.press(CTRL_C);
    let interrupted = person.sees(&["turn 2 was interrupted", "broken off", "scripted · "]);
    assert!(interrupted.contains("  word one"), "what was said of it stays:\n{interrupted}");
    assert!(!interrupted.contains("nine ten"), "{interrupted}");

    // More than a moment later, Ctrl-C takes away what is typed, and does not leave.
    thread::sleep(Duration::from_millis(2100));
    person.press("never sent");
    person.sees(&["› never sent"]);
    person.press(CTRL_C);
    person.press("again\r");
    person.sees(&["› again", "word one two three four five six seven eight nine ten", "turn 3 done"]);
    assert!(!person.picture().contains("never sent"));
    person.press(CTRL_D);
}

/// The second part: what was said before is there, and so is what was typed.
fn come_back(person: &mut dyn Person) {
    let back = person.sees(&["› please", "› again", "after 3 turns", "scripted · /help"]);
    assert!(back.contains("✓ append_once") && back.contains("turn 3 done"), "{back}");
    // Once as what was sent, and once as what is being typed.
    person.press(UP);
    person.sees_twice("› again");
    person.press(UP);
    person.sees_twice("› go on");
    person.press(CTRL_C);
    person.press("/halp\r");
    person.sees(&["there is no /halp"]);
    person.press("/diff\r");
    person.sees(&["A log", "+one", "+x"]);
    person.press("and now\r");
    person.sees(&["Welcome back.", "turn 4 done"]);
    person.press(CTRL_C);
    person.sees(&["Ctrl-C again leaves"]);
    person.press(CTRL_C);
}

fn check(program: &Program) {
    let id = &program.sessions()[0].id;
    let events = program.check(id);
    let counts = ["user.message", "user.answer", "user.interrupt", "turn.interrupted", "turn.completed"]
        .map(|kind| events.count(kind));
    assert_eq!(counts, [4, 1, 1, 1, 3]);
    let history = program.data().join("history");
    assert_eq!(std::fs::metadata(&history).expect("a history").permissions().mode() & 0o777, 0o600);
    let typed = std::fs::read_to_string(history).expect("a history");
    assert_eq!(typed, "\"please\"\n\"go on\"\n\"again\"\n\"and now\"\n", "answers are not kept");
}

#[test]
fn a_conversation_at_a_terminal() {
    let program = Program::new();
    let bundle = program.bundle(&bundle(SCRIPT));
    let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
    converse(&mut person);
    person.until("left; `rewake");
    assert!(person.screen().contains("\x1b[?2004l"), "pastes are not marked any more");
    assert_eq!(person.end(), Some(0));
    let id = program.sessions()[0].id.clone();
    let mut person = program.at_terminal(&["run", "--session", &id]);
    come_back(&mut person);
    person.until(&format!("run --session {id}`"));
    assert_eq!(person.end(), Some(130));
    check(&program);
}

/// Where there is no tmux this fails and says what to do, unless the environment says that there is none.
fn is_tmux_there() -> bool {
    let is_excused = std::env::var_os("REWAKE_TEST_NO_TMUX").is_some();
    let is_there = Tmux::is_there();
    assert!(
        is_there || is_excused,
        "there is no tmux: install the package `tmux`, or set REWAKE_TEST_NO_TMUX=1"
    );
    if !is_there {
        rewake_tests::skipped("tmux is not installed: apt-get install tmux");
    }
    is_there
}

#[test]
fn a_conversation_in_tmux() {
    if !is_tmux_there() {
        return;
    }
    let program = Program::new();
    let bundle = program.bundle(&bundle(SCRIPT));
    let mut person = program.in_tmux(&["run", "--grant-asked", &bundle], 90, 40);
    converse(&mut person);
    person.sees(&["left; `rewake", "ended with 0"]);
    let id = program.sessions()[0].id.clone();
    let mut person = program.in_tmux(&["run", "--session", &id], 90, 40);
    person.sees(&["after 3 turns", "scripted · /help"]);
    // As narrow as a telephone, and back: nothing of what was said goes, and nothing is there twice.
    person.resize(30, 20);
    person.press("a line that takes more than one row");
    person.sees(&["› a line that takes more than", "  one row", "scripted · /help"]);
    person.press(CTRL_C);
    person.resize(90, 40);
    come_back(&mut person);
    person.sees(&["ended with 130"]);
    let record = person.record();
    for line in ["› please", "› again", "✓ append_once", "after 3 turns", "Welcome back."] {
        assert_eq!(record.matches(line).count(), 1, "{line}\n{record}");
    }
    check(&program);
}

/// N-C1: what is typed and what is being said is there once when the terminal has become narrower.
#[test]
fn a_narrower_terminal_shows_each_row_once() {
    if !is_tmux_there() {
        return;
    }
    let line = |n: u32| {
        format!("row {n} of an answer that is as wide as the terminal was before it became so narrow")
    };
    let said: Vec<String> = (1..20).map(line).collect();
    let script = format!("[[reply]]\ntext = \"{}\"\ndelay_ms = 6000\n", said.join("\\n"));
    let program = Program::new();
    let bundle = program.bundle(&bundle(&script));
    let mut person = program.in_tmux(&["run", "--grant-asked", &bundle], 100, 24);
    person.sees(&["scripted · /help"]);
    let typed: String = ('a'..='z').cycle().take(76).collect();
    person.press(&typed);
    person.sees(&[&typed]);
    person.resize(50, 24);
    person.sees(&["scripted · /help"]);
    person.resize(100, 24);
    person.sees(&[&typed]);
    assert_eq!(person.record().matches("abcdef").count(), 3, "{}", person.record());

    person.press("\r");
    person.sees(&["row 9 of", "Ctrl-C interrupts"]);
    person.press(&typed);
    person.sees(&[&format!("› {typed}"), "row 9 of"]);
    person.resize(50, 24);
    person.sees(&["row 19 of", "turn 1 done"]);
    let record = person.record();
    for n in 1..20 {
        assert_eq!(record.matches(&format!("row {n} of")).count(), 1, "row {n}\n{record}");
    }
    assert_eq!(record.matches("abcdef").count(), 6, "{record}");
    person.press(CTRL_C);
    person.press(CTRL_D);
    person.sees(&["ended with 0"]);
}

/// N-C2: a paste whose end mark never comes is kept as text, is not sent, and leaves the keys as they are.
#[test]
fn a_paste_without_an_end_can_be_ended() {
    let program = Program::new();
    let bundle = program.bundle(&bundle("[[reply]]\ntext = \"heard\"\n"));
    let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
    person.sees(&["scripted · /help"]);
    person.press("\x1b[200~one\rtwo");
    person.sees(&["Ctrl-C ends it"]);
    person.press(CTRL_C);
    person.sees(&["› one\n  two", "scripted · /help"]);
    person.press(CTRL_C);
    person.waits("an empty line", &|picture| !picture.contains("two"));
    person.press("\x1b[200~three");
    person.sees(&["Ctrl-C ends it"]);
    person.press(CTRL_D);
    person.sees(&["› three"]);
    person.press("\x15");
    person.press(CTRL_D);
    assert_eq!(person.end(), Some(0));
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.events(&id).count("user.message"), 0);
}

/// N-C3: whatever signal ends the process, the terminal is as it was, and the process ends by that signal.
#[test]
fn every_signal_that_ends_the_process_restores_the_terminal() {
    let program = Program::new();
    let bundle = program.bundle(&bundle("[[reply]]\ntext = \"heard\"\n"));
    for signal in [Signal::QUIT, Signal::ABORT, Signal::USR1, Signal::ALARM, Signal::XCPU, Signal::SYS] {
        let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
        person.sees(&["scripted · /help"]);
        assert!(!person.is_cooked());
        person.signal(signal);
        person.until("\x1b[?2004l");
        assert_eq!(person.wait().signal(), Some(signal.as_raw()));
        assert!(person.is_cooked(), "{signal:?}");
    }
}

/// N-A6: a paste in the first moment is there whole, or not at all and that is said; no part of it is sent.
#[test]
fn a_paste_before_the_session_is_ready_is_whole_or_dropped() {
    let pasted: Vec<String> = (0..30_000).map(|n| format!("line {n:05}")).collect();
    let paste = format!("\x1b[200~{}\x1b[201~", pasted.join("\r"));
    for is_taken in [false, true] {
        let program = Program::new();
        let bundle = program.bundle(&bundle("[[reply]]\ntext = \"heard\"\n"));
        let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
        if is_taken {
            let before = person.until("\x1b[?2004h");
            assert!(
                !before.contains("session"),
                "the terminal is taken before anything else is done: {before}"
            );
        }
        person.press(&paste);
        let is_dropped = person.sees(&["scripted · /help"]).contains("ready is not kept");
        assert!(!is_dropped || !is_taken);
        if !is_dropped {
            person.sees(&["line 29999"]);
        }
        person.press("\r");
        if !is_dropped {
            person.sees(&["turn 1 done"]);
        }
        person.press(CTRL_D);
        assert_eq!(person.end(), Some(0));
        let events = program.events(&program.sessions()[0].id);
        let texts = events.of_kind("user.message").filter_map(|one| one.data["parts"][0]["text"].as_str());
        let sent: Vec<&str> = texts.collect();
        match is_dropped {
            true => assert!(sent.is_empty()),
            false => assert!(sent == [pasted.join("\n")], "{} bytes", sent[0].len()),
        }
    }
}

/// What a model says cannot reach the terminal as more than text, in whatever pieces it comes.
#[test]
fn what_is_said_and_done_cannot_draw_on_the_terminal() {
    let script = "[[reply]]\ntext = \"one \\u001b]0;evil\\u0007 \\u001b [2J two \\u009b2J \\u202e end\"\ndelay_ms = 300\n\
                  use = [{ tool = \"echo\\u001b[2J\", input = { text = \"\\u001b[2Jx\" } }]\n\
                  [[reply]]\ntext = \"over\"\n";
    let program = Program::new().with_env("NO_COLOR", "1");
    let bundle = program.bundle(&bundle(script));
    let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
    person.sees(&["scripted · /help"]);
    person.press("go\r");
    person.sees(&[r"one \u{1b}]0;evil\u{7} \u{1b} [2J two \u{9b}2J \u{202e} end", "over", "turn 1 done"]);
    person.press("/quit\r");
    person.until("left; ");
    let screen = person.screen();
    for harmful in ["\x1b]0", "\x1b[2J", "\u{9b}", "\u{202e}", "\x07"] {
        assert!(!screen.contains(harmful), "{harmful:?}");
    }
    for colours in ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"] {
        assert!(!screen.contains(colours), "NO_COLOR is set");
    }
    assert_eq!(person.end(), Some(0));
}

/// A terminal that cannot draw is told plainly, and so is whatever is no terminal.
#[test]
fn nobody_is_talked_to_where_nothing_can_be_drawn() {
    let program = Program::new().with_env("TERM", "dumb");
    let bundle = program.bundle(&bundle(SCRIPT));
    let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
    let shown = person.until("tell it something: rewake");
    assert!(!shown.contains('\x1b'), "{shown:?}");
    assert_eq!(person.end(), Some(0));
    let id = program.sessions()[0].id.clone();
    let mut person = program.at_terminal(&["run", "--session", &id]);
    person.until("nothing is open; tell it something");
    assert_eq!(person.end(), Some(0));
    program.run(&["run", "--session", &id]).expect(0).says(&["nothing is open"]);
}

/// A session can be ended for good from there, and a text of several lines is one message.
#[test]
fn lines_are_pasted_and_sessions_stopped() {
    let program = Program::new();
    let bundle = program.bundle(&bundle("[[reply]]\ntext = \"heard\"\n"));
    let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
    person.sees(&["scripted · /help"]);
    person.press("\x1b[200~one\rtwo\x1b[201~ end\r");
    person.sees(&["› one\n  two end", "heard", "turn 1 done"]);
    person.press("/stop it is enough\r");
    person.sees(&["type /stop again"]);
    person.press("/stop it is enough\r");
    person.until("the session is stopped: it is enough");
    assert_eq!(person.end(), Some(0));
    let id = program.sessions()[0].id.clone();
    let events = program.events(&id);
    assert_eq!(events.first("user.message").data["parts"][0]["text"], "one\ntwo end");
    program.run(&["run", "--session", &id]).expect(6);
}

/// Pressed twice, Ctrl-C ends the turn and leaves; what comes of it is there the next time.
#[test]
fn a_turn_that_runs_can_be_left_at_once() {
    let program = Program::new();
    let bundle = program.bundle(&bundle("[[reply]]\ntext = \"word one two three\"\ndelay_ms = 60000\n"));
    let mut person = program.at_terminal(&["run", "--grant-asked", &bundle]);
    person.sees(&["scripted · /help"]);
    person.press("go\r");
    person.sees(&["› go", "Ctrl-C interrupts"]);
    person.press("and this\r\x03\x03");
    person.until("left; `rewake");
    assert_eq!(person.end(), Some(130));
    let id = program.sessions()[0].id.clone();
    let mut person = program.at_terminal(&["run", "--session", &id]);
    // What was sent last is kept: it opens the next turn.
    person.sees(&["turn 1 was interrupted", "› and this", "Ctrl-C interrupts"]);
    person.press("\x04");
    assert_eq!(person.end(), Some(130));
    let events = program.check(&id);
    assert_eq!((events.count("user.message"), events.count("user.interrupt")), (2, 1));
}

/// Anyone who comes second is told who has the session, and is heard all the same.
#[test]
fn two_talk_to_one_session() {
    let program = Program::new();
    let bundle = program.bundle(&bundle("[[reply]]\ntext = \"heard\"\n[[reply]]\ntext = \"again\"\n"));
    let mut one = program.at_terminal(&["run", "--grant-asked", &bundle]);
    one.sees(&["scripted · /help"]);
    one.press("from one\r");
    one.sees(&["heard", "turn 1 done"]);
    let id = program.sessions()[0].id.clone();
    let mut two = program.at_terminal(&["run", "--session", &id]);
    two.sees(&["› from one", "after 1 turn"]);
    two.press("from two\r");
    two.sees(&["is run by", "again", "turn 2 done"]);
    one.sees(&["› from two", "again", "turn 2 done"]);
    // It is asked for again every second, and who has it is told once.
    thread::sleep(Duration::from_millis(2500));
    assert_eq!(two.picture().matches("is run by").count(), 1, "{}", two.picture());
    two.press("\x04");
    assert_eq!(two.end(), Some(0));
    // The session is unloaded in good order, and the terminal is as it was.
    one.signal(Signal::TERM);
    one.until("\x1b[?2004l");
    one.until("left; `rewake");
    assert_eq!(one.end(), Some(143));
    let events = program.check(&id);
    assert_eq!(events.0.last().map(|event| event.kind.as_str()), Some("session.unloaded"));
}
