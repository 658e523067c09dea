//! Built bundles at the program: what the lock keeps from running, and one file for one bundle.

use std::path::Path;

use rewake_tests::bundles::Draft;
use rewake_tests::program::{Program, text};

/// A bundle beside the data folder, with its lock.
fn built(program: &Program, draft: &Draft) -> String {
    let folder = program.bundle(draft);
    program.run(&["bundle", "build", &folder]).expect(0);
    folder
}

fn said(program: &Program, name: &str) -> String {
    text(&program.beside(name))
}

#[test]
fn the_same_bundle_packs_to_the_same_bytes_and_runs() {
    let program = Program::new();
    let folder = built(&program, &Draft::scripted());
    std::fs::write(Path::new(&folder).join("notes.txt"), "not part of it").unwrap();
    let (one, two) = (said(&program, "one.rewake"), said(&program, "deep/two.rewake"));
    let packed = program.run(&["bundle", "pack", &folder, "-o", &one]).expect(0);
    assert!(packed.stdout.contains("one.rewake is test/scripted 0.1.0 (4 files"), "{}", packed.stdout);
    let elsewhere = built(&program, &Draft::scripted());
    let told = program.run(&["bundle", "pack", &elsewhere, "-o", &two, "--json"]).expect(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    assert_eq!(told["bytes"].as_u64(), Some(std::fs::metadata(&two).unwrap().len()));

    // It is the bundle, by its digest, whether it comes from the folder or from the file.
    let id = program.run(&["run", "--grant-asked", &one]).expect(0).stdout.trim().to_owned();
    let shown = program.run(&["show", &id]).expect(0).stdout;
    assert!(shown.contains(told["digest"].as_str().unwrap()), "{shown}");
    program.tell(&id, r#"[{"op":"tools","uses":[{"name":"echo","input":{}}]}]"#).expect(0);
    program.check(&id);
    let id = program.run(&["run", "--grant-asked", &folder]).expect(0).stdout.trim().to_owned();
    assert!(program.run(&["show", &id]).expect(0).stdout.contains(told["digest"].as_str().unwrap()));

    program
        .run(&["bundle", "pack", &folder, "-o", &said(&program, "b.tar")])
        .expect(2)
        .says(&["ends with .rewake"]);
}

#[test]
fn what_was_not_built_or_changed_since_is_not_packed() {
    let program = Program::new();
    let folder = program.bundle(&Draft::scripted());
    let file = said(&program, "b.rewake");
    program
        .run(&["bundle", "pack", &folder, "-o", &file])
        .expect(2)
        .says(&["has no bundle.lock", "bundle build"]);
    program.run(&["bundle", "install", &folder, "--no-grant"]).expect(2).says(&["has no bundle.lock"]);
    program.run(&["run", "--grant-asked", &folder]).expect(0);

    program.run(&["bundle", "build", &folder]).expect(0);
    let manifest = Path::new(&folder).join("bundle.toml");
    let before = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, format!("{before}\n# changed\n")).unwrap();
    let words = ["`bundle.toml` changed since bundle.lock was written", "rewake bundle build"];
    for args in
        [&["run", &folder][..], &["bundle", "pack", &folder, "-o", &file], &["bundle", "install", &folder]]
    {
        program.run(args).expect(2).says(&words);
    }
    assert!(!Path::new(&file).exists());
    std::fs::write(&manifest, before).unwrap();
    program.run(&["bundle", "pack", &folder, "-o", &file]).expect(0);
}

/// Files that somebody changed on the way, or that are no packed bundles: nothing of them is taken.
#[test]
fn a_tampered_file_is_refused() {
    let program = Program::new();
    let folder = built(&program, &Draft::scripted());
    let file = said(&program, "b.rewake");
    program.run(&["bundle", "pack", &folder, "-o", &file]).expect(0);
    let whole = std::fs::read(&file).unwrap();
    let find = |needle: &[u8]| whole.windows(needle.len()).position(|window| window == needle).unwrap();
    let changes: [(&str, usize, &str); 3] = [
        ("the manifest", find(b"why = \"the test\"") + 8, "changed since bundle.lock was written"),
        ("a component", whole.len() - 4096, ""),
        ("a header", find(b"ustar") - 150, "is not a packed bundle"),
    ];
    for (what, at, words) in changes {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        for args in [&["run", "--grant-asked", &file][..], &["bundle", "install", "--grant-asked", &file]] {
            let ended = program.run(args).expect(2);
            assert!(
                ended.stderr.contains("b.rewake") && ended.stderr.contains(words),
                "{what}: {}",
                ended.stderr
            );
        }
    }
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    program.run(&["bundle", "install", &file]).expect(2).says(&["b.rewake"]);
    std::fs::write(&file, b"no tar").unwrap();
    program.run(&["run", &file]).expect(2).says(&["is not a packed bundle", "rewake bundle pack"]);
    assert!(program.run(&["bundle", "list", "--json"]).expect(0).stdout.is_empty());
    assert!(program.sessions().is_empty());
}

/// The lock says what the tools are; a component that says something else is not run.
#[test]
fn a_component_that_lists_other_tools_than_the_lock_is_refused() {
    let program = Program::new();
    let folder = built(&program, &Draft::scripted());
    let lock = Path::new(&folder).join("bundle.lock");
    let before = std::fs::read_to_string(&lock).unwrap();
    let line = before.lines().find(|line| line.starts_with("description = ")).unwrap();
    std::fs::write(&lock, before.replacen(line, "description = \"Something harmless.\"", 1)).unwrap();
    for args in [&["run", "--grant-asked", &folder][..], &["bundle", "install", "--grant-asked", &folder]] {
        program
            .run(args)
            .expect(2)
            .says(&["test/scripted:tool_probe", "another description than bundle.lock says"]);
    }
    let without: Vec<&str> = before.split("\n[[component.tool]]").collect();
    std::fs::write(&lock, without[..without.len() - 1].join("\n[[component.tool]]")).unwrap();
    program.run(&["run", "--grant-asked", &folder]).expect(2).says(&["and bundle.lock says"]);
    assert!(program.sessions().is_empty());
}
