//! A data folder that cannot be written, is full, or goes away under a process that runs a session in it.

use std::path::Path;
use std::process::{Command, Stdio};

use rewake_tests::program::{Program, text};
use serde_json::json;

use crate::cut::{FOREVER_MS, LONG_MS, append, call};
use crate::faulty::{Three, says, turn};

/// Runs a script of the shell as the owner of a mount namespace of its own, where that can be had. The tests may run
/// as root, whom permissions do not hold.
fn in_namespace(script: &str, args: &[&str]) -> Option<std::process::Output> {
    let unshare = |script: &str, args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).args(args);
        command.stdin(Stdio::null()).output()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let can = unshare("mount -t tmpfs none \"$1\"", &[&text(folder.path())]);
    if can.is_ok_and(|can| can.status.success()) {
        return Some(unshare(script, args).expect("it ran just now"));
    }
    rewake_tests::skipped("this machine permits no mount namespace");
    None
}

/// A folder on a disk that can only be read: what is kept in it is shown and verified, nothing is begun, and it is
/// said why.
#[test]
fn a_data_folder_that_cannot_be_written_can_be_read() {
    let three = Three::new();
    let program = three.program.words();
    let script = r#"
        data=$1; hit=$2; other=$3; shift 3
        mount --bind "$data" "$data" && mount -o remount,bind,ro "$data" || exit 99
        for words in "sessions" "show $hit" "events $hit" "replay $hit" "verify" "doctor" \
            "run --session $hit" "run --session $hit hello" "stop $other"; do
            "$@" $words > /dev/null 2> "$data.said"; echo "$words: $?: $(tr '\n' ' ' < "$data.said")"
        done"#;
    let data = text(&three.program.data());
    let mut args = vec![data.as_str(), &three.hit, &three.other];
    args.extend(program.iter().map(String::as_str));
    let Some(output) = in_namespace(script, &args) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (hit, other) = (&three.hit, &three.other);
    for (words, code) in [
        ("sessions".to_owned(), 0),
        (format!("show {hit}"), 0),
        (format!("events {hit}"), 0),
        (format!("replay {hit}"), 0),
        ("verify".to_owned(), 0),
        ("doctor".to_owned(), 1),
        (format!("run --session {hit}"), 1),
        (format!("run --session {hit} hello"), 1),
        (format!("stop {other}"), 1),
    ] {
        let line = said.lines().find(|line| line.starts_with(&format!("{words}: "))).expect("a line");
        assert!(line.starts_with(&format!("{words}: {code}: ")), "{said}");
        assert!(code == 0 || words == "doctor" || line.contains("cannot be written"), "{line}");
    }
    // Outside of the namespace it can be written: nothing had been sent.
    three.goes_on(&three.hit, "three");
    three.stands_by(&three.other, "three");
}

/// A full disk: begun is nothing that cannot be kept, and it is said that the disk is full; with room on it the
/// session goes on.
#[test]
fn a_full_disk_is_told_and_with_room_the_session_goes_on() {
    let three = Three::new();
    let program = three.program.words();
    let script = r#"
        data=$1; hit=$2; other=$3; ops=$4; shift 4
        cp -a "$data" "$data.whole" && mount -t tmpfs -o size=4m none "$data" && cp -a "$data.whole/." "$data" || exit 99
        dd if=/dev/zero of="$data/filler" bs=4096 2> /dev/null
        say() { "$@" > /dev/null 2> "$data.said"; echo "$name: $?: $(tr '\n' ' ' < "$data.said")"; }
        name=doctor say "$@" doctor
        name=full say "$@" run --session "$hit" "$ops"
        name=shown say "$@" show "$hit"
        name=verified say "$@" verify
        rm "$data/filler"
        name=again say "$@" run --session "$hit"
        name=told say "$@" run --session "$hit" "$ops"
        name=other say "$@" run --session "$other" "$ops"
        name=after say "$@" verify
        cp -a "$data/." "$data.after"; umount "$data"; rm -rf "$data"; mv "$data.after" "$data""#;
    std::fs::create_dir(three.program.beside("data.after")).unwrap();
    let (data, ops) = (text(&three.program.data()), turn("three").to_string());
    let mut args = vec![data.as_str(), &three.hit, &three.other, &ops];
    args.extend(program.iter().map(String::as_str));
    let Some(output) = in_namespace(script, &args) else { return };
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for (name, code) in [
        ("doctor", 1),
        ("full", 1),
        ("shown", 0),
        ("verified", 0),
        ("again", 0),
        ("told", 0),
        ("other", 0),
        ("after", 0),
    ] {
        assert!(said.lines().any(|line| line.starts_with(&format!("{name}: {code}: "))), "{name}: {said}");
    }
    let full = said.lines().find(|line| line.starts_with("full: ")).unwrap_or_default();
    assert!(full.contains("full") || full.contains("No space left"), "{full}");
    for id in [&three.hit, &three.other] {
        three.program.check(id);
        three.did_once(id, "three");
    }
}

/// A session in the middle of a call.
fn busy(three: &Three) -> rewake_tests::program::Process {
    let ops = json!([
        call(&[append("append_once", "three", LONG_MS)]),
        { "op": "say", "text": "after" },
        call(&[append("append_once", "late", FOREVER_MS)]),
    ]);
    let mut process = three.program.start(&["run", "--session", &three.hit, &ops.to_string()]);
    process.until("the tool's line", || three.program.lines(&three.hit, "log", "three") > 0);
    process
}

/// R0: a store's file that is deleted under a process: it says so and stops, instead of writing what nobody finds.
#[test]
fn a_data_folder_that_is_deleted_is_told_and_nothing_goes_on_in_it() {
    for what in ["all", "journal.db", "journal.db-wal"] {
        let three = Three::new();
        let process = busy(&three);
        let data = three.program.data();
        if what == "all" {
            std::fs::remove_dir_all(&data).unwrap();
        } else {
            std::fs::remove_file(data.join(what)).unwrap();
        }
        let told = process.end().expect(1);
        told.says(&["journal.db was deleted, moved or replaced", "nothing was written"]);
        let names = || std::fs::read_dir(&data).map_or(0, |all| all.count());
        assert!(what != "all" || names() == 0, "something was made in its place");
    }
}

/// A data folder that is moved away, with a copy put in its place: the process stops; the folder goes on, wherever it
/// is, and what was in the middle is done once.
#[test]
fn a_data_folder_that_is_replaced_goes_on_where_it_was_put() {
    let three = Three::new();
    let process = busy(&three);
    let (data, away) = (three.program.data(), three.program.beside("away"));
    std::fs::rename(&data, &away).unwrap();
    copy(&three.program, &away, &data);
    process.end().expect(1).says(&["was deleted, moved or replaced"]);

    three.program.resume(&three.other).expect(0);
    three.verified(0);
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::rename(&away, &data).unwrap();
    says(&three.program.run(&["show", &three.hit]).expect(0).stdout, &["resume"]);
    let mut process = three.program.start(&["run", "--session", &three.hit]);
    process.until("the last tool", || three.program.lines(&three.hit, "log", "late") > 0);
    process.kill();
    three.did_once(&three.hit, "three");
    three.program.run(&["verify", &three.hit]).expect(0);
    three.stands_by(&three.other, "three");
}

fn copy(program: &Program, from: &Path, to: &Path) {
    assert!(program.data() == to);
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}
