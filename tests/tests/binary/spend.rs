//! What models cost and what was sent to them, as the program takes and shows it.

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;
use serde_json::{Value, json};

const RULES: &str =
    "[models.paid]\nprovider = \"scripted\"\nmax_tokens = 100\nprice = { input = 1000, output = 1000 }\n";

/// A session whose scripted model may answer ten times, made with these arguments; its id, and what was said.
fn create(program: &Program, args: &[&str]) -> (String, String) {
    program.rule(RULES);
    let agent = "[agent]\nscript = \"script.toml\"\nmax_usd = 50";
    let bundle = Draft::scripted().toml(agent).file("script.toml", "[[reply]]\ntext = \"Yes.\"\n".repeat(10));
    let bundle = program.bundle(&bundle);
    let made = program.run(&[&["run", "--grant-asked"], args, &[bundle.as_str()]].concat()).expect(0);
    (made.stdout.trim().to_owned(), made.stderr.clone())
}

fn asks(count: usize) -> String {
    let one = |n: usize| [json!({ "op": "model", "text": format!("question {n}") }), json!({ "op": "more" })];
    Value::from((0..count).flat_map(one).collect::<Vec<_>>()).to_string()
}

#[test]
fn a_cap_and_a_model_are_given_with_run_and_shown() {
    let program = Program::new();
    let (id, said) = create(&program, &["--model", "paid", "--max-usd", "6.5"]);
    assert!(said.contains("its models may cost $6.50 together"), "{said}");
    let told = program.tell(&id, &asks(1)).expect(0);
    assert!(told.stdout.contains(" out, $"), "{}", told.stdout);
    let shown = program.run(&["show", &id]).expect(0).stdout;
    assert!(shown.contains("model paid") && shown.contains(" of $6.50"), "{shown}");
    let failed = program.tell(&id, &asks(9)).expect(3);
    assert!(failed.stdout.contains("failed (budget_reached)"), "{}", failed.stdout);
    program.check(&id);
    // The bundle's own cap, where none is given.
    assert!(create(&program, &[]).1.contains("may cost $50.00"));
    program.run(&["run", "--max-usd", "much", "."]).expect(2).says(&["is not an amount in USD"]);
}

/// `N-F4`: the operator raises the cap of a session that has reached it, and the session goes on. The change is an entry.
#[test]
fn the_cap_of_a_session_is_raised() {
    let program = Program::new();
    let (id, _) = create(&program, &["--model", "paid", "--max-usd", "0.001"]);
    program.tell(&id, &asks(1)).expect(3).says(&[]);
    let raised = program.run(&["run", "--session", &id, "--max-usd", "40", &asks(1)]).expect(0);
    assert!(raised.stdout.contains("Yes."), "{}", raised.stdout);
    let events = program.check(&id);
    let changed = &events.first("budget.changed").data;
    assert_eq!((&changed["from"], &changed["to"]), (&json!(1_000_000), &json!(40_000_000_000_u64)));
    assert!(program.run(&["show", &id]).expect(0).stdout.contains(" of $40.00"));
    let same = program.run(&["run", "--session", &id, "--max-usd", "40", &asks(1)]);
    same.expect(0);
    assert_eq!(program.check(&id).count("budget.changed"), 1, "nothing is changed");
}

#[test]
fn what_was_sent_is_shown() {
    let program = Program::new();
    let (id, _) = create(&program, &[]);
    program.tell(&id, &asks(2)).expect(0);
    let events = program.check(&id);
    let seq = events.last("model.started").seq.to_string();
    let shown = program.run(&["show", &id, "--request", &seq]).expect(0).stdout;
    for words in [
        "to scripted, 3 messages",
        "tools  ",
        "[1] user",
        "  question 0",
        "[2] assistant",
        "  Yes.",
        "  question 1",
    ] {
        assert!(shown.contains(words), "{words:?} is not in {shown}");
    }
    let json = program.run(&["show", &id, "--request", &seq, "--json"]).expect(0).stdout;
    let sent: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(sent["messages"][2]["content"][0]["part"]["text"], "question 1");
    program.run(&["show", &id, "--request", "1"]).expect(2).says(&["entry 1 is session.created", &seq]);
    program.run(&["show", "ses_0", "--request", "1"]).expect(2);
    program.run(&["show", &id, "--json"]).expect(2).says(&["--request"]);
}
