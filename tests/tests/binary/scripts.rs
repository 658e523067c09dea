//! `rewake run --script`: the scripted model plays a person's script instead of the bundle's, and one that is
//! none is refused before there is a session.

use rewake_tests::bundles::root;
use rewake_tests::program::{Program, text};

#[test]
fn a_script_of_ones_own_is_played_and_stays_with_the_session() {
    let program = Program::new();
    let bundle = text(&root().join("examples/harness"));
    let script = program.beside("script.toml");
    std::fs::write(&script, "[[reply]]\ntext = \"From my script.\"\n[[reply]]\ntext = \"Still mine.\"\n")
        .unwrap();
    let ran = program.run(&["run", &bundle, "Hello.", "--script", &text(&script)]).expect(0);
    assert!(ran.stdout.contains("From my script."), "{}", ran.stdout);
    std::fs::remove_file(&script).unwrap();
    let id = program.sessions()[0].id.clone();
    let told = program.tell(&id, "And now?").expect(0);
    assert!(told.stdout.contains("Still mine."), "{}", told.stdout);
    program.check(&id);
}

#[test]
fn what_is_no_script_is_refused_with_its_place() {
    let program = Program::new();
    let bundle = text(&root().join("examples/harness"));
    let script = program.beside("script.toml");
    let run = || program.run(&["run", &bundle, "Hello.", "--script", &text(&script)]).expect(2);
    run().says(&["script.toml cannot be read"]);
    for (bytes, words) in
        [(&b"[[replies]]\ntext = \"a\"\n"[..], "script.toml:1"), (&b""[..], "reply"), (&b"\xff"[..], "UTF-8")]
    {
        std::fs::write(&script, bytes).unwrap();
        run().says(&[words]);
    }
    std::fs::write(&script, vec![b'#'; (1 << 20) + 1]).unwrap();
    run().says(&["larger than 1.0 MiB"]);
    assert!(!program.data().join("journal.db").exists(), "a session was made");
}
