//! A guest's diagnostics: what it logs and what it writes to its standard streams, within a limit.

use rewake_bindings::{Output, log};
use rewake_core::fact::{LogLevel, LogLine, LogLines};
use rewake_core::limits::{LOG_BYTES_MAX, LOG_LINE_BYTES_MAX, LOG_LINES_MAX, cut};

/// Lines of diagnostics, in order.
#[derive(Debug, Default)]
pub struct Logs {
    lines: Vec<LogLine>,
    bytes: usize,
    dropped: u64,
    /// Lines that the journal has of an earlier run: what was logged, and what was written to each standard stream.
    known: [usize; 3],
}

impl Logs {
    /// Lines of a step that is run again: it says again what it said before, and what the journal has of that is not kept
    /// a second time (journal.md R7).
    pub fn after<'a>(journaled: impl Iterator<Item = &'a LogLine>) -> Logs {
        let mut known = [0; 3];
        journaled.for_each(|line| known[stream(line.level)] += 1);
        Logs { known, ..Logs::default() }
    }

    /// Keeps a line that was logged.
    pub fn push(&mut self, level: log::Level, text: &str) {
        let level = match level {
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.keep(level, text);
    }

    /// Keeps what was written to the standard streams.
    pub fn push_output(&mut self, output: &Output) {
        for (level, text) in [(LogLevel::Stdout, &output.stdout), (LogLevel::Stderr, &output.stderr)] {
            for line in text.lines() {
                self.keep(level, line);
            }
        }
        self.dropped += u64::from(output.dropped_bytes > 0);
    }

    fn keep(&mut self, level: LogLevel, text: &str) {
        let known = &mut self.known[stream(level)];
        if *known > 0 {
            *known -= 1;
            return;
        }
        if self.lines.len() < LOG_LINES_MAX && self.bytes < LOG_BYTES_MAX {
            let text = cut(text, LOG_LINE_BYTES_MAX);
            self.bytes += text.len();
            self.lines.push(LogLine { level, text });
        } else {
            self.dropped += 1;
        }
    }

    /// As an entry's content; none if nothing was said.
    pub fn into_fact(self, component: &str) -> Option<LogLines> {
        let said = !self.lines.is_empty() || self.dropped > 0;
        said.then(|| LogLines { component: component.to_owned(), lines: self.lines, dropped: self.dropped })
    }
}

fn stream(level: LogLevel) -> usize {
    match level {
        LogLevel::Stdout => 1,
        LogLevel::Stderr => 2,
        LogLevel::Debug | LogLevel::Info | LogLevel::Warn | LogLevel::Error => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_rest_is_counted() {
        let mut logs = Logs::default();
        assert!(Logs::default().into_fact("a:b").is_none());
        for _ in 0..LOG_LINES_MAX + 2 {
            logs.push(log::Level::Info, "x");
        }
        let lines = logs.into_fact("a:b").unwrap();
        assert_eq!((lines.lines.len(), lines.dropped), (LOG_LINES_MAX, 2));
    }

    /// `N-A2`: of each stream, as many lines are passed over as the journal has.
    #[test]
    fn lines_of_an_earlier_run_are_kept_once() {
        let line = |level, text: &str| LogLine { level, text: text.into() };
        let before = [line(LogLevel::Info, "a"), line(LogLevel::Stdout, "x"), line(LogLevel::Warn, "b")];
        let mut logs = Logs::after(before.iter());
        ["a", "b", "c"].iter().for_each(|text| logs.push(log::Level::Info, text));
        let output = Output { stdout: "x\ny\n".into(), stderr: "z\n".into(), dropped_bytes: 0 };
        logs.push_output(&output);
        let kept: Vec<String> =
            logs.into_fact("a:b").unwrap().lines.into_iter().map(|line| line.text).collect();
        assert_eq!(kept, ["c", "y", "z"]);
    }

    #[test]
    fn long_lines_are_cut_and_their_bytes_are_bounded() {
        let mut logs = Logs::default();
        for _ in 0..LOG_LINES_MAX {
            logs.push(log::Level::Info, &"x".repeat(LOG_LINE_BYTES_MAX + 1));
        }
        let kept = logs.into_fact("a:b").unwrap();
        assert!(kept.lines[0].text.ends_with("(1 bytes cut)"));
        let bytes: usize = kept.lines.iter().map(|line| line.text.len()).sum();
        assert!((LOG_BYTES_MAX..LOG_BYTES_MAX + 2 * LOG_LINE_BYTES_MAX).contains(&bytes), "{bytes}");
        assert_eq!(kept.dropped as usize, LOG_LINES_MAX - kept.lines.len());
    }
}
