//! What the library was told by its environment: which calls on which files are counted, and at which of them
//! what happens. Performs nothing but notes.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rules, with `;` between them.
const RULES: &str = "REWAKE_PRELOAD";
/// A file that gets a line for each call that a rule met.
const LOG: &str = "REWAKE_PRELOAD_LOG";
/// A file that says by how many milliseconds the clock is wrong, while it is there.
const CLOCK: &str = "REWAKE_PRELOAD_CLOCK";

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Sync,
    Write,
    Truncate,
}

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The process is killed, and the call not made.
    KillBefore,
    /// The call is made, and the process killed before it hears of it.
    KillAfter,
    /// The process is killed, and what it wrote since the last sync is gone, as after a loss of power.
    KillLost,
    /// The same, but half of that is there.
    KillTorn,
    /// The process stands still (`SIGSTOP`), and makes the call when it goes on.
    StopBefore,
    /// The call is not made, and answered with this error.
    Fail(i32),
    /// Half of a write is made.
    Short,
}

/// A rule: which calls it counts, and what happens at some of them.
struct Rule {
    call: Call,
    /// The end of the file's path.
    file: String,
    first: u64,
    last: u64,
    /// Nothing but a note, if none.
    then: Option<Then>,
    word: String,
    /// It counts only while there is such a file.
    only_while: Option<PathBuf>,
    count: AtomicU64,
}

/// What a call on a file comes to: the file, and what is to happen; nothing unusual, if none. None at all if no
/// rule is about the file.
pub(crate) fn of(call: Call, file: i32) -> Option<(PathBuf, Option<Then>)> {
    let rules = rules();
    if rules.is_empty() {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{file}")).ok()?;
    let text = path.to_str()?;
    let text = text.strip_suffix(" (deleted)").unwrap_or(text);
    let mut then = None;
    let mut is_known = false;
    for rule in rules.iter().filter(|rule| text.ends_with(&rule.file)) {
        is_known = true;
        if rule.call != call || rule.only_while.as_ref().is_some_and(|there| !there.exists()) {
            continue;
        }
        let number = rule.count.fetch_add(1, Ordering::SeqCst) + 1;
        if (rule.first..=rule.last).contains(&number) {
            note(rule, number);
            then = then.or(rule.then);
        }
    }
    is_known.then_some((path, then))
}

/// By how many milliseconds the clock is wrong now.
pub(crate) fn clock_off_ms() -> Option<i64> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os(CLOCK).map(PathBuf::from)).as_ref()?;
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn rules() -> &'static [Rule] {
    static ALL: OnceLock<Vec<Rule>> = OnceLock::new();
    ALL.get_or_init(|| {
        let text = std::env::var(RULES).unwrap_or_default();
        let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
        // A fault that is not as it was meant makes a test that shows nothing: better no program at all.
        rules.map(|rule| read(rule).unwrap_or_else(|| panic!("{RULES}: no rule: {rule}"))).collect()
    })
}

/// `CALL FILE NUMBERS THEN [while PATH]`.
fn read(rule: &str) -> Option<Rule> {
    let mut words = rule.split_whitespace();
    let call = match words.next()? {
        "sync" => Call::Sync,
        "write" => Call::Write,
        "truncate" => Call::Truncate,
        _ => return None,
    };
    let file = words.next()?.to_owned();
    let numbers = words.next()?;
    let (first, last) = match numbers.split_once("..") {
        None => (numbers, numbers),
        Some(both) => both,
    };
    let first = first.parse().ok()?;
    let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    let word = words.next()?.to_owned();
    let then = match word.as_str() {
        "note" => None,
        "kill-before" => Some(Then::KillBefore),
        "kill-after" => Some(Then::KillAfter),
        "kill-lost" => Some(Then::KillLost),
        "kill-torn" => Some(Then::KillTorn),
        "stop-before" => Some(Then::StopBefore),
        "short" => Some(Then::Short),
        fails => Some(Then::Fail(fails.strip_prefix("fail-")?.parse().ok()?)),
    };
    let only_while = match (words.next(), words.next()) {
        (None, _) => None,
        (Some("while"), Some(path)) => Some(Path::new(path).to_owned()),
        _ => return None,
    };
    let ends = words.next().is_none();
    ends.then_some(Rule { call, file, first, last, then, word, only_while, count: AtomicU64::new(0) })
}

/// Adds a line to the log, if there is one. What cannot be noted is not: the calls go on.
fn note(rule: &Rule, number: u64) {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(file) = FILE.get_or_init(|| std::env::var_os(LOG).map(PathBuf::from)) else { return };
    let call = match rule.call {
        Call::Sync => "sync",
        Call::Write => "write",
        Call::Truncate => "truncate",
    };
    let line = format!("{call} {} {number} {}\n", rule.file, rule.word);
    if let Ok(mut log) = OpenOptions::new().create(true).append(true).open(file) {
        let _ = log.write_all(line.as_bytes());
    }
}

/// Whether any rule cancels what was not synced, so that it has to be kept what was there before.
pub(crate) fn take_back() -> bool {
    rules().iter().any(|rule| matches!(rule.then, Some(Then::KillLost | Then::KillTorn)))
}
