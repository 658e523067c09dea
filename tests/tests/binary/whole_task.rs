//! A whole task: a failing project is repaired by the assistant, and the host is killed twenty times while
//! it does. Knows the project, its repair and what must be the same at the end.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rewake_tests::bundles::root;
use rewake_tests::chooser::Chooser;
use rewake_tests::journal::Events;
use rewake_tests::program::{Process, Program, Signal, text};

const KILLS: u32 = 20;
/// How long the model takes for a reply: so that there is time to be killed in.
const REPLY_MS: u64 = 200;
/// How long after an entry the host is killed at most: sooner than the next reply comes.
const LINGER_MS_MAX: u64 = 120;
/// Entries that only say that a session is loaded again.
const TAKING_UP: [&str; 8] = [
    "session.loaded",
    "session.unloaded",
    "step.rerun",
    "call.retried",
    "hook.started",
    "hook.verdict",
    "snapshot.taken",
    "snapshot.rejected",
];

/// What the model does: it looks, plans, runs the tests, fixes one bug after the other and writes down why.
fn script() -> String {
    let calls = |text: &str, uses: &[(&str, &str)]| {
        let uses: Vec<_> =
            uses.iter().map(|(tool, input)| format!("{{ tool = {tool:?}, input = {input} }}")).collect();
        format!("[[reply]]\ntext = {text:?}\ndelay_ms = {REPLY_MS}\nuse = [{}]\n\n", uses.join(", "))
    };
    let prices = r#"{ path = "prices.koto", old = "  if count > 10", new = "  if count >= 10" }"#;
    let cart = r#"{ path = "cart.koto", old = "    cart.keep(|line| line.name != name).to_list()", new = "    cart.keep(|line| line.name != name).to_list() + [{name, price, count: known.count + count}]" }"#;
    let plan = |first: &str, second: &str| {
        format!(
            "{{ items = [{{ text = \"mend the prices\", status = {first:?} }}, {{ text = \"mend the cart\", \
             status = {second:?} }}] }}"
        )
    };
    let note = r##"{ path = "CHANGES.md", content = "# Changes\n\n- Ten of a thing are cheaper.\n- More of a thing stays in the cart.\n" }"##;
    let read = |path: &str| format!("{{ path = {path:?} }}");
    let mut script = calls("I look around.", &[("list_files", "{}")]);
    script += &calls("I run the tests.", &[("run_tests", "{}")]);
    script += &calls("Two fail.", &[("update_plan", &plan("in_progress", "pending"))]);
    script += &calls(
        "I read what they test, and who else uses it.",
        &[
            ("read_file", &read("prices.koto")),
            ("read_file", &read("prices_test.koto")),
            ("grep", r#"{ pattern = "total" }"#),
        ],
    );
    script += &calls("Ten are to be cheaper already.", &[("edit_file", prices)]);
    script += &calls("I look at what I changed.", &[("read_file", &read("prices.koto"))]);
    script += &calls("I run the tests again.", &[("run_tests", "{}")]);
    script += &calls("One is left.", &[("update_plan", &plan("done", "in_progress"))]);
    script += &calls(
        "It is about the cart.",
        &[("read_file", &read("cart.koto")), ("read_file", &read("cart_test.koto"))],
    );
    script += &calls("More of a thing leaves the cart.", &[("edit_file", cart)]);
    script += &calls("I look at that, too.", &[("read_file", &read("cart.koto"))]);
    script += &calls("I run the tests once more.", &[("run_tests", "{}")]);
    script += &calls("All pass.", &[("update_plan", &plan("done", "done"))]);
    script += &calls("I write down what changed.", &[("write_file", note)]);
    script += &calls("I read it.", &[("read_file", &read("CHANGES.md"))]);
    script += &calls("And I see what is here now.", &[("glob", r#"{ pattern = "**" }"#)]);
    script + "[[reply]]\ntext = \"All 6 tests pass; CHANGES.md says what I changed.\"\n"
}

struct Task {
    program: Program,
    id: String,
}

impl Task {
    fn new() -> Task {
        let program = Program::new();
        let script_file = program.beside("script.toml");
        std::fs::write(&script_file, script()).expect("written");
        let place = |path: &str| text(&root().join(path));
        let made = program.run(&[
            "run",
            "--grant-asked",
            &place("plugins/assistant"),
            "--with",
            &place("examples/checks"),
            "--workspace",
            &place("examples/checks/tests/project"),
            "--script",
            &text(&script_file),
        ]);
        let id = made.expect(0).stdout.trim().to_owned();
        Task { program, id }
    }

    fn events(&self) -> Events {
        self.program.events(&self.id)
    }

    fn workspace(&self) -> PathBuf {
        self.program.data().join("workspaces").join(&self.id)
    }

    /// Every file of the workspace, with what is in it.
    fn files(&self) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(self.workspace()).expect("the workspace");
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, std::fs::read_to_string(&path).expect("a text"))
            })
            .collect();
        files.sort();
        files
    }

    fn outcome(&self) -> Outcome {
        let events = self.program.check(&self.id);
        let results = events.of_kind("tool.completed").map(|event| {
            (event.data["outcome"].as_str().expect("an outcome").to_owned(), event.data["parts"].to_string())
        });
        let mut results: Vec<_> = results.collect();
        // Side by side, they end in any order.
        results.sort();
        Outcome { said: events.said(), transcript: events.transcript(), results, files: self.files() }
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    said: Vec<String>,
    transcript: Vec<String>,
    results: Vec<(String, String)>,
    files: Vec<(String, String)>,
}

fn progress(events: &Events) -> usize {
    events.0.iter().filter(|event| !TAKING_UP.contains(&event.kind.as_str())).count()
}

/// Kills the process, but not while an edit is under way: that one is of class `once`, a model would look
/// at what became of it, and a script cannot (kill.rs has those points).
fn kill(task: &Task, mut process: Process) {
    loop {
        process.signal(Signal::STOP);
        if task.events().open("tool.started").all(|start| start.data["class"] != "once") {
            return process.kill();
        }
        process.signal(Signal::CONT);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Issue D: a repair of a failing project, killed at random points, ends as one that nobody disturbed.
#[test]
fn a_repair_that_is_killed_twenty_times_ends_the_same() {
    let undisturbed = Task::new();
    undisturbed.program.tell(&undisturbed.id, "Make the tests pass.").expect(0);
    let expected = undisturbed.outcome();
    assert!(expected.results.iter().any(|(_, parts)| parts.contains("2 of 6 tests failed")), "{expected:#?}");
    assert!(expected.results.iter().any(|(_, parts)| parts.contains("all 6 tests passed")), "{expected:#?}");
    assert!(expected.results.iter().all(|(outcome, _)| outcome == "ok"), "{expected:#?}");

    let task = Task::new();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let mut chooser = Chooser::new(seed, 0);
    let mut args = vec!["run", "--session", &task.id, "Make the tests pass."];
    for kill_number in 1..=KILLS {
        let before = progress(&task.events());
        // What kills its host again and again is given up (R5), so every other kill comes after some progress.
        let more = usize::from(kill_number % 2 == 0);
        let mut process = task.program.start(&args);
        process.until(&format!("kill {kill_number} of seed {seed}"), || {
            let events = task.events();
            events.count("session.loaded") as u32 >= kill_number && progress(&events) >= before + more
        });
        std::thread::sleep(Duration::from_millis(chooser.below(LINGER_MS_MAX)));
        kill(&task, process);
        args.truncate(3);
    }
    task.program.resume(&task.id).expect(0);
    assert_eq!(task.outcome(), expected, "seed {seed}");
    let events = task.events();
    assert_eq!(events.count("session.loaded") as u32, KILLS + 1, "seed {seed}");
    assert_eq!(events.count("turn.completed"), 1, "seed {seed}");
}
