//! What came of the cases: findings, each with what was expected and what came where that helps. Says it as
//! data and as JUnit; how a person sees it is the command line's.

use std::fmt::Write as _;
use std::time::Duration;

use rewake_text::plain;
use similar::{ChangeTag, TextDiff};

/// Lines around a difference that are shown.
const AROUND: usize = 3;
/// Lines of a difference that are shown; more would bury the first.
const LINES_MAX: usize = 200;

/// Something that is not as the case wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub what: String,
    /// The difference, a line each: `-` expected, `+` came.
    pub diff: Vec<String>,
}

impl Finding {
    pub(super) fn of(what: impl Into<String>) -> Finding {
        Finding { what: what.into(), diff: Vec::new() }
    }

    pub(super) fn machine(doing: &str, error: &std::io::Error) -> Finding {
        Finding::of(format!("{doing}: {error}"))
    }

    pub(super) fn differs(what: impl Into<String>, expected: &str, came: &str) -> Finding {
        Finding { what: what.into(), diff: diff(expected, came) }
    }
}

/// How a case ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// `call`, `hook` or `session`.
    pub kind: &'static str,
    /// The case's name.
    pub name: String,
    /// Its file and line.
    pub place: String,
    /// What is not as it must be; empty: it passed.
    pub findings: Vec<Finding>,
    /// What else is good to know.
    pub notes: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// Whether all is as it must be.
    pub fn passed(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The difference of two texts, a line each: those that differ with a few around them.
pub(super) fn diff(expected: &str, came: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(expected, came);
    let mut lines = Vec::new();
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            lines.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let text = change.value().trim_end_matches('\n');
            let end = if change.missing_newline() { " (no line feed at the end)" } else { "" };
            lines.push(format!("{sign} {text}{end}"));
        }
    }
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("  … and {more} more lines"));
    }
    lines
}

/// The reports as JUnit XML, the form that servers for CI read.
pub fn junit(suite: &str, reports: &[Report]) -> String {
    let failures = reports.iter().filter(|report| !report.passed()).count();
    let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
    let total = seconds(reports.iter().map(|report| report.took).sum());
    let (suite, tests) = (xml(suite), reports.len());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{tests}\" failures=\"{failures}\" \
         time=\"{total}\">\n  <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"0\" skipped=\"0\" time=\"{total}\">\n"
    );
    for report in reports {
        let (name, file) = (xml(&report.name), xml(&report.place));
        let took = seconds(report.took);
        let _ = write!(
            text,
            "    <testcase classname=\"{suite}.{}\" name=\"{name}\" file=\"{file}\" time=\"{took}\"",
            report.kind
        );
        if report.passed() {
            text.push_str("/>\n");
            continue;
        }
        text.push_str(">\n");
        for finding in &report.findings {
            let what = xml(&finding.what);
            let diff = xml(&finding.diff.join("\n"));
            let _ = writeln!(text, "      <failure message=\"{what}\">{diff}</failure>");
        }
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Text for XML: what has a meaning there is escaped. What XML 1.0 cannot hold is among what a terminal must not have.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, findings: Vec<Finding>) -> Report {
        Report {
            kind: "call",
            name: name.to_owned(),
            place: "tests/a.toml:1".to_owned(),
            findings,
            notes: Vec::new(),
            took: Duration::from_millis(1_500),
        }
    }

    #[test]
    fn a_difference_shows_the_lines_that_differ() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\nc\n"), ["  a", "- b", "+ x", "  c"]);
        assert_eq!(diff("a\n", "a\n"), [""; 0]);
        assert_eq!(diff("a\n", "a"), ["- a", "+ a (no line feed at the end)"]);
        let long: String = (0..500).map(|n| format!("{n}\n")).collect();
        assert_eq!(diff(&long, "").last().unwrap(), "  … and 300 more lines");
    }

    #[test]
    fn junit_counts_and_escapes() {
        let finding = Finding::differs("\"x\" < y\u{1b}", "a\n", "b\n");
        let text = junit("acme/words", &[report("one", vec![]), report("two & a half", vec![finding])]);
        for line in [
            "<testsuites tests=\"2\" failures=\"1\" time=\"3.000\">",
            "<testcase classname=\"acme/words.call\" name=\"one\" file=\"tests/a.toml:1\" time=\"1.500\"/>",
            "name=\"two &amp; a half\"",
            "<failure message=\"&quot;x&quot; &lt; y\\u{1b}\">- a&#10;+ b</failure>",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
