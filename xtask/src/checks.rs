//! `cargo xtask test`: checks and tests, cheap ones first, in three tiers: what a change needs, what continuous
//! integration runs, and everything.
//!
//! Knows the order, the groups of tests and what each tier sets; what a check demands is its own business.

use std::process::Command;
use std::time::Instant;

use crate::workspace::Workspace;
use crate::{Result, console, process, setup};

/// Tests that take five seconds or more, and modules of such tests: only the tiers above the first run them.
const SLOW: [&str; 13] = [
    "bundles_new::every_kind_of_new_bundle_builds_and_passes_its_tests",
    "bundles_testing::the_assistant_comes_to_the_same_wherever_it_is_cut",
    "every_append::",
    "faults_disk::a_disk_that_fails_once_loses_nothing",
    "faults_disk::a_disk_that_stays_broken_is_told",
    "faults_locks::a_lock_of_a_moment_is_waited_for",
    "faults_locks::a_lock_that_lasts_is_told_and_nothing_is_lost",
    "grants::a_secret_stands_nowhere",
    "sqlite::tests::files::many_open_a_file_at_once_that_is_not_there",
    "stopped::",
    "talk::untrusted::text_looks_the_same_however_it_is_cut",
    "walk::the_walk_goes_as_it_is_written",
    "whole_task::",
];

/// Names a file that a test adds a line to if it cannot run on this machine (`rewake_tests::skipped`).
const SKIPPED: &str = "REWAKE_TEST_SKIPPED";

/// How much is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tier {
    /// What a change needs.
    #[default]
    Change,
    /// What continuous integration runs.
    Full,
    /// Everything, for some hours.
    Soak,
}

/// What of the suite to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    tier: Tier,
    /// Leave out clippy, documentation and licences.
    quick: bool,
    /// Names of tests; where there are any, only those tests run.
    filter: Vec<String>,
}

impl Options {
    /// Reads what follows `cargo xtask test`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            match argument {
                "--quick" => options.quick = true,
                "--full" => options.tier = Tier::Full,
                "--soak" => options.tier = Tier::Soak,
                "--" => {
                    options.filter = arguments.map(|&name| name.to_owned()).collect();
                    break;
                }
                other => {
                    return Err(format!(
                        "cargo xtask test has no option `{other}`: give names of tests after `--`"
                    ));
                }
            }
        }
        Ok(options)
    }

    fn is_whole(&self) -> bool {
        !self.quick && self.filter.is_empty()
    }
}

/// Runs the suite and ends at the first failure.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let mut report = Report::default();
    if options.filter.is_empty() {
        report.step("formatting", &mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    }
    if options.is_whole() && options.tier != Tier::Change {
        licences(workspace, &mut report)?;
    }
    report.timed("build", || setup::everything(workspace))?;
    if options.is_whole() {
        // Both check without generating code and share what they learn of the dependencies.
        report.step(
            "clippy (the first time: about 4 minutes)",
            &mut workspace.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        )?;
        let mut documentation = workspace.cargo(&["doc", "--no-deps", "--workspace"]);
        report.step("documentation", documentation.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    if options.filter.is_empty() {
        let mut examples = workspace.cargo(&["test", "--doc", "--workspace"]);
        report.step("examples in the documentation", &mut examples)?;
    }
    tests(workspace, options, &mut report)?;
    report.print();
    Ok(())
}

/// What took how long, and what was left out.
#[derive(Default)]
struct Report {
    seconds: Vec<(String, u64)>,
    skipped: Vec<String>,
}

impl Report {
    fn step(&mut self, heading: &str, command: &mut Command) -> Result {
        console::heading(heading);
        self.timed(heading, || process::run(command))
    }

    fn timed(&mut self, name: &str, work: impl FnOnce() -> Result) -> Result {
        let started = Instant::now();
        work()?;
        self.seconds.push((name.to_owned(), started.elapsed().as_secs()));
        Ok(())
    }

    fn print(&self) {
        console::heading("all passed; seconds:");
        for (name, seconds) in &self.seconds {
            let (name, _) = name.split_once(" (").unwrap_or((name, ""));
            console::note(&format!("{seconds:>5}  {name}"));
        }
        let total: u64 = self.seconds.iter().map(|(_, seconds)| seconds).sum();
        console::note(&format!("{total:>5}  in total"));
        if !self.skipped.is_empty() {
            console::heading(&format!("skipped: {}", self.skipped.len()));
            self.skipped.iter().for_each(|skipped| console::note(skipped));
        }
    }
}

/// Runs the tests group by group; with a filter, those of all groups at once.
fn tests(workspace: &Workspace, options: &Options, report: &mut Report) -> Result {
    let skipped = workspace.target.join("skipped-tests.txt");
    let is_lost = |error| format!("{}: {error}", skipped.display());
    std::fs::write(&skipped, "").map_err(is_lost)?;
    let runner = runner(workspace, report);
    let settings = settings(options.tier, &commit(workspace));
    let mut run = |name: &str, selection: &[String], names: &[String]| {
        // The whole workspace, so that its dependencies have the features that they were built with.
        let mut command = workspace.cargo(runner);
        command.arg("--workspace").args(selection).arg("--").args(names);
        command.envs(settings.iter().filter(|(name, _)| std::env::var_os(name).is_none()).cloned());
        if !process::succeeds(Command::new("tmux").arg("-V")) {
            command.env("REWAKE_TEST_NO_TMUX", "1");
        }
        report.step(&format!("tests: {name}"), command.env(SKIPPED, &skipped))
    };
    let all = ["--lib", "--bins", "--tests"].map(str::to_owned);
    if options.filter.is_empty() {
        let skips: Vec<String> =
            SLOW.iter().flat_map(|name| ["--skip".to_owned(), (*name).to_owned()]).collect();
        for (name, selection) in groups(&workspace.tests) {
            run(name, &selection, &skips)?;
        }
        if options.tier != Tier::Change {
            run("slow", &all, &SLOW.map(str::to_owned))?;
        }
    } else {
        run("those asked for", &all, &options.filter)?;
    }
    report.skipped.extend(std::fs::read_to_string(&skipped).map_err(is_lost)?.lines().map(str::to_owned));
    Ok(())
}

/// With nextest where it is installed: it runs the tests of all binaries side by side.
fn runner(workspace: &Workspace, report: &mut Report) -> &'static [&'static str] {
    if process::succeeds(&mut workspace.cargo(&["nextest", "--version"])) {
        return &["nextest", "run"];
    }
    report.skipped.push(
        "cargo-nextest: plain `cargo test` takes longer; cargo install --locked cargo-nextest".to_owned(),
    );
    &["test"]
}

/// The groups of tests, and cargo's options for each. `tests` are the targets of integration tests: those that are no
/// group of their own are laws and contracts beside a crate.
fn groups(tests: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let own = ["tidy", "e2e", "simulation", "binary"];
    let one = |name: &'static str| (name, vec!["--test".to_owned(), name.to_owned()]);
    let laws = tests.iter().filter(|test| !own.contains(&test.as_str()));
    let laws = laws.flat_map(|test| ["--test".to_owned(), test.clone()]).collect();
    let unit = ["--lib", "--bins"].map(str::to_owned).to_vec();
    vec![one("tidy"), ("unit", unit), ("laws", laws), one("e2e"), one("simulation"), one("binary")]
}

/// What the tests read of the tier (docs/testing.md).
fn settings(tier: Tier, commit: &str) -> Vec<(&'static str, String)> {
    let third = third(commit);
    let settings: &[(&'static str, &str)] = match tier {
        Tier::Change => &[("REWAKE_SIM_SEEDS", "500"), ("REWAKE_CUT_STEP", "7")],
        Tier::Full => &[("REWAKE_CRASH_POINTS", &third), ("REWAKE_FUZZ_SECONDS", "4")],
        Tier::Soak => &[
            ("REWAKE_SIM_SEEDS", "1000000"),
            ("REWAKE_SIM_SECONDS", "1800"),
            ("REWAKE_CRASH_POINTS", "all"),
            ("REWAKE_FAULT_POINTS", "all"),
            ("REWAKE_FUZZ_SECONDS", "60"),
        ],
    };
    settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

/// The third of the crash points that a commit is tested with: it changes from commit to commit, and is the same
/// whenever one commit is tested.
fn third(commit: &str) -> String {
    let digits = commit.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    format!("{}/3", digits.unwrap_or(0) % 3 + 1)
}

fn commit(workspace: &Workspace) -> String {
    let mut git = Command::new("git");
    process::output(git.args(["rev-parse", "HEAD"]).current_dir(&workspace.root)).unwrap_or_default()
}

fn licences(workspace: &Workspace, report: &mut Report) -> Result {
    if process::succeeds(&mut workspace.cargo(&["deny", "--version"])) {
        let mut command = workspace.cargo(&["deny", "--workspace", "check", "bans", "licenses", "sources"]);
        return report.step("licences, sources and bans of the dependencies", &mut command);
    }
    let skipped = "cargo-deny (licences, sources and bans): cargo install --locked cargo-deny";
    report.skipped.push(skipped.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        let quick = Options { quick: true, ..Options::default() };
        assert_eq!(Options::parse(&["--quick"]).unwrap(), quick);
        let full = Options { tier: Tier::Full, ..Options::default() };
        assert_eq!(Options::parse(&["--full"]).unwrap(), full);
        assert_eq!(Options::parse(&["--soak", "--quick"]).unwrap(), Options { tier: Tier::Soak, ..quick });
        let filtered = Options::parse(&["--", "replay", "--exact"]).unwrap();
        let filter = vec!["replay".to_owned(), "--exact".to_owned()];
        assert_eq!(filtered, Options { filter, ..Options::default() });
        assert!(!filtered.is_whole() && Options::default().is_whole());
        assert!(Options::parse(&["replay"]).unwrap_err().contains("`replay`"));
    }

    #[test]
    fn every_test_target_is_in_one_group() {
        let targets = ["binary", "e2e", "laws", "simulation", "suite", "tidy"].map(str::to_owned);
        let groups = groups(&targets);
        let mut grouped: Vec<String> = groups.iter().flat_map(|(_, selection)| selection.clone()).collect();
        grouped.retain(|word| !word.starts_with("--"));
        grouped.sort();
        assert_eq!(grouped, targets);
        assert!(
            groups.contains(&("laws", ["--test", "laws", "--test", "suite"].map(str::to_owned).to_vec()))
        );
    }

    /// A name in the list that no test has would let a slow test into the first tier unseen.
    #[test]
    fn every_slow_test_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tests = ["tests/tests/binary", "tests/tests/e2e", "host/cli/src", "host/store/src"];
        let tests = tests.map(|folder| root.join(folder));
        for name in SLOW {
            let mut path: Vec<&str> = name.split("::").collect();
            let test = path.pop().unwrap();
            let file = path.join("/") + ".rs";
            let texts = tests.iter().filter_map(|folder| std::fs::read_to_string(folder.join(&file)).ok());
            assert!(texts.into_iter().any(|text| text.contains(&format!("fn {test}"))), "{name}");
        }
    }

    #[test]
    fn a_commit_chooses_its_third() {
        assert_eq!(third("00000000aa"), "1/3");
        assert_eq!(third("00000004aa"), "2/3");
        assert_eq!(third("ffffffffaa"), "1/3");
        assert_eq!(third(""), "1/3");
    }
}
