//! Words for what sessions consist of, used by several commands. Makes sentences; writes nothing. What it
//! returns is not made safe for a terminal yet: its writers do that.

use rewake_core::fact::{Created, FileAudit, FileUsed, HttpUse};
use rewake_core::grant::{ANY_MODEL, Access, FsSource};
use rewake_core::session::Session;
pub(crate) use rewake_transcript::words::{
    bytes, count, lost, outcome, outcome_word, parts, question, sender, tool_lost, usage, wait,
};
use rewake_wire::Fault;

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
            lines.push(format!("{} {may} {} ({what})", pin.full_name(), grant.mount));
        }
        for grant in &pin.grants.http {
            let mut line = format!(
                "{} may send {} to {}://{}",
                pin.full_name(),
                grant.methods.join(", "),
                grant.scheme.as_str(),
                grant.host
            );
            if let Some(secret) = &grant.secret {
                line.push_str(&format!(", with the secret {:?}", secret.config));
            }
            lines.push(line);
        }
        for name in &pin.grants.models {
            let which = match name.as_str() {
                ANY_MODEL => "any model of rewake.toml".to_owned(),
                name => format!("the model {name:?}"),
            };
            lines.push(format!("{} may call {which}, beside the session's own", pin.full_name()));
        }
    }
    if lines.is_empty() {
        lines.push("no component may touch files or the network".to_owned());
    }
    lines
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

#[cfg(test)]
mod tests {
    use rewake_core::fact::FileOp;

    use super::*;

    #[test]
    fn costs_are_told() {
        let mut session = Session::new(rewake_core::ids::SessionId::parse("ses_1").unwrap());
        session.spent = "1.5".parse().unwrap();
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
}
