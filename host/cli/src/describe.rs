//! Words for what sessions consist of, used by several commands. Makes sentences; writes nothing. What it
//! returns is not made harmless yet: anyone who writes it does that.

use rewake_core::fact::{
    ComponentPin, Created, FileAudit, FileUsed, HttpUse, Lost, Question, ToolCompleted, WaitOn,
};
use rewake_core::grant::{Access, FsSource};
use rewake_core::money::Usd;
use rewake_core::session::Session;
use rewake_wire::{Fault, Outcome, Part, Sender, Usage};

/// A component as it is named everywhere.
pub(crate) fn component(pin: &ComponentPin) -> String {
    format!("{}:{}", pin.bundle, pin.name)
}

/// What each component may do beyond computing, a line each; one line if none may.
pub(crate) fn grants(created: &Created) -> Vec<String> {
    let mut lines = Vec::new();
    for pin in &created.components {
        for grant in &pin.grants.fs {
            let may = match grant.access {
                Access::ReadOnly => "may read",
                Access::ReadWrite => "may read and write",
            };
            let what = match &grant.source {
                FsSource::Workspace => "the session's workspace".to_owned(),
                FsSource::Scratch => "empty, and gone after the call".to_owned(),
                FsSource::Bundle => "the bundle's own files".to_owned(),
                FsSource::Host(name) => format!("the host's directory {name:?}"),
            };
            lines.push(format!("{} {may} {} ({what})", component(pin), grant.mount));
        }
        for grant in &pin.grants.http {
            let mut line = format!(
                "{} may send {} to {}://{}",
                component(pin),
                grant.methods.join(", "),
                grant.scheme.as_str(),
                grant.host
            );
            if let Some(secret) = &grant.secret {
                line.push_str(&format!(", with the secret {:?}", secret.config));
            }
            lines.push(line);
        }
    }
    if lines.is_empty() {
        lines.push("no component may touch files or the network".to_owned());
    }
    lines
}

/// Content as text: what is none is named.
pub(crate) fn parts(parts: &[Part]) -> String {
    let texts: Vec<String> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.clone(),
            Part::Json { json } => json.clone(),
            Part::Blob { media_type, data } => format!("[{media_type}, {}]", bytes(data.0.len() as u64)),
            Part::BlobRef { media_type, size, .. } => format!("[{media_type}, {}]", bytes(u64::from(*size))),
        })
        .collect();
    texts.join("\n")
}

/// Who sent something.
pub(crate) fn sender(sender: &Sender) -> String {
    match sender {
        Sender::Operator(name) => name.clone(),
        Sender::Agent(session) => format!("session {session}"),
        Sender::Trigger(name) => format!("trigger {name}"),
        Sender::System => "the host".to_owned(),
    }
}

/// Tokens, as far as there are any.
pub(crate) fn usage(usage: &Usage) -> String {
    let mut text = format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
    if usage.cache_read_tokens > 0 || usage.cache_write_tokens > 0 {
        text.push_str(&format!(
            " (cache: {} read, {} written)",
            usage.cache_read_tokens, usage.cache_write_tokens
        ));
    }
    text
}

/// Tokens, and what they cost if that is anything.
pub(crate) fn usage_and_cost(tokens: &Usage, cost: Usd) -> String {
    let tokens = usage(tokens);
    if cost.is_zero() { tokens } else { format!("{tokens}, {cost}") }
}

/// What a session's models have cost and may cost, and what calls under way can still come to.
pub(crate) fn spent(session: &Session) -> String {
    let mut text = session.spent.to_string();
    if let Some(max) = session.max_usd() {
        text.push_str(&format!(" of {max}"));
    }
    let open = session.committed().minus(session.spent);
    if !open.is_zero() {
        text.push_str(&format!(", and up to {open} by what is under way"));
    }
    text
}

/// Why the end of a call is not known.
pub(crate) fn lost(why: Lost) -> &'static str {
    match why {
        Lost::Host => "the host died while it ran",
        Lost::Interrupted => "the turn ended while it ran",
        Lost::Limit => "it was tried too often",
    }
}

/// What a turn waits for.
pub(crate) fn wait(on: &WaitOn) -> String {
    match on {
        WaitOn::Answers(ids) if ids.len() == 1 => "an answer".to_owned(),
        WaitOn::Answers(ids) => format!("{} answers", ids.len()),
        WaitOn::Time { until: Some(until), on_message: true } => format!("a message, until {until}"),
        WaitOn::Time { until: Some(until), on_message: false } => format!("{until}"),
        WaitOn::Time { until: None, on_message: true } => "a message".to_owned(),
        WaitOn::Time { until: None, on_message: false } => "nothing that can come".to_owned(),
    }
}

/// What a tool or a hook did with files and over the network during one call, a line each.
pub(crate) fn audit(files: &FileAudit, requests: &[HttpUse]) -> Vec<String> {
    let mut lines: Vec<String> = files.uses.iter().map(file_used).collect();
    if files.dropped > 0 {
        lines.push(format!(
            "{} over the limit",
            count(files.dropped, "more use of files", "more uses of files")
        ));
    }
    lines.extend(requests.iter().map(http_used));
    lines
}

fn file_used(used: &FileUsed) -> String {
    let what = used.op.function().trim_start_matches("filesystem.").trim_end_matches("-at");
    let mut line = format!("{what} {}", used.path);
    if !used.to.is_empty() {
        line.push_str(&format!(" -> {}", used.to));
    }
    if used.times > 1 {
        line.push_str(&format!(" × {}", used.times));
    }
    if used.bytes > 0 {
        line.push_str(&format!(", {}", bytes(used.bytes)));
    }
    if let Some(error) = &used.error {
        line.push_str(&format!(": {error}"));
    }
    line
}

fn http_used(used: &HttpUse) -> String {
    let what = format!("{} {}", used.method, used.url);
    match (&used.denied, &used.error, used.status) {
        (Some(why), ..) => format!("{what}: denied: {why}"),
        (None, Some(why), _) => format!("{what}: failed: {why}"),
        (None, None, Some(status)) => format!("{what}: {status}, {}, {} ms", bytes(used.bytes), used.ms),
        (None, None, None) => what,
    }
}

/// A question with its choices.
pub(crate) fn question(asked: &Question) -> String {
    let mut text = format!("[{}] {}", asked.id, asked.text);
    if !asked.choices.is_empty() {
        text.push_str(&format!(" ({})", asked.choices.join(" | ")));
    }
    text
}

/// A fault and its report, a line each.
pub(crate) fn fault(fault: &Fault) -> Vec<String> {
    let at = fault.seq.map(|seq| format!(" at entry {seq}")).unwrap_or_default();
    let mut lines = vec![format!("{}{at} (host {}): {}", fault.reason, fault.host_version, fault.detail)];
    for (name, value) in
        [("recorded", &fault.expected), ("came", &fault.got), ("first difference", &fault.field)]
    {
        if !value.is_empty() {
            lines.push(format!("{name}: {value}"));
        }
    }
    lines
}

/// A mark for how a tool ended, and how that was, in words.
pub(crate) fn outcome(body: &ToolCompleted) -> (&'static str, String) {
    match body.outcome {
        Outcome::Ok if body.cut_bytes > 0 => {
            ("✓", format!("{} ms, {} of its output cut", body.ms, bytes(body.cut_bytes)))
        }
        Outcome::Ok => ("✓", format!("{} ms", body.ms)),
        Outcome::Error => ("✗", "error".to_owned()),
        Outcome::Denied => ("⊘", "denied".to_owned()),
        Outcome::TimedOut => ("✗", format!("timed out after {} ms", body.ms)),
        Outcome::Unknown => ("✗", "unknown whether it did it".to_owned()),
    }
}

/// A size that people can read.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    if bytes < 1024 {
        return if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// A number of things.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

#[cfg(test)]
mod tests {
    use rewake_core::fact::FileOp;
    use rewake_core::ids::Timestamp;

    use super::*;

    #[test]
    fn sizes_and_counts_are_words() {
        assert_eq!(
            [bytes(1), bytes(1023), bytes(1536), bytes(5 << 30), bytes(1 << 50)],
            ["1 byte", "1023 bytes", "1.5 KiB", "5.0 GiB", "1048576.0 GiB"]
        );
        assert_eq!([count(1, "step", "steps"), count(0, "step", "steps")], ["1 step", "0 steps"]);
    }

    #[test]
    fn costs_are_told_where_there_are_any() {
        let usd = |text: &str| text.parse::<Usd>().unwrap();
        let tokens = Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() };
        assert_eq!(usage_and_cost(&tokens, Usd::ZERO), "10 tokens in, 3 out");
        assert_eq!(usage_and_cost(&tokens, usd("0.0105")), "10 tokens in, 3 out, $0.0105");
        let mut session = Session::new(rewake_core::ids::SessionId::parse("ses_1").unwrap());
        session.spent = usd("1.5");
        assert_eq!(spent(&session), "$1.50");
    }

    #[test]
    fn audits_are_a_line_a_use() {
        let used = |op, times, bytes, error: Option<&str>| FileUsed {
            op,
            path: "/workspace/a".into(),
            to: String::new(),
            detail: String::new(),
            times,
            bytes,
            digest: None,
            error: error.map(str::to_owned),
        };
        let uses = vec![
            used(FileOp::Write, 2, 2048, None),
            used(FileOp::Open, 1, 0, Some("read-only")),
            FileUsed { to: "/workspace/b".into(), ..used(FileOp::Rename, 1, 0, None) },
        ];
        let request = |status, denied: Option<&str>| HttpUse {
            method: "GET".into(),
            url: "https://a.b/".into(),
            status,
            bytes: 3,
            ms: 7,
            denied: denied.map(str::to_owned),
            error: None,
        };
        let requests = [request(Some(200), None), request(None, Some("not granted"))];
        assert_eq!(
            audit(&FileAudit { uses, dropped: 1 }, &requests),
            [
                "write /workspace/a × 2, 2.0 KiB",
                "open /workspace/a: read-only",
                "rename /workspace/a -> /workspace/b",
                "1 more use of files over the limit",
                "GET https://a.b/: 200, 3 bytes, 7 ms",
                "GET https://a.b/: denied: not granted",
            ]
        );
    }

    #[test]
    fn what_is_waited_for_is_said() {
        let time = |until: Option<i64>, on_message| WaitOn::Time { until: until.map(Timestamp), on_message };
        assert_eq!(wait(&WaitOn::Answers(vec!["q".into()])), "an answer");
        assert_eq!(wait(&WaitOn::Answers(vec!["q".into(), "r".into()])), "2 answers");
        assert_eq!(wait(&time(Some(0), false)), "1970-01-01T00:00:00.000Z");
        assert_eq!(wait(&time(None, true)), "a message");
    }
}
