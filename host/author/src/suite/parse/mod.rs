//! Reads `tests/*.toml`. Knows the keys; opens no file that a case names, but knows where it must be: files of
//! tests stand beside the test, bundles are named from the bundle's folder on, as in its `use`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use rewake_core::effect::Effect;
use rewake_core::fact::HookEvent;
use rewake_runtime::HttpMock;
use rewake_runtime::host::standalone::Fired;
use rewake_toml::{Document, Fields};
use rewake_toml::{Error, Invalid, SourceText, quote};
use serde_json::{Map, Value};
use toml::de::DeValue;

use super::cases::{
    CallCase, Case, Decided, Files, GRANTS, Given, HookCase, Kind, Returned, SessionCase, Setting, Stands,
    TurnEnd, Verdict,
};

const EFFECTS: [(&str, Effect); 3] =
    [("pure", Effect::Pure), ("idempotent", Effect::Idempotent), ("once", Effect::Once)];

/// The cases of one file, in its order. `name` is what errors call it, `folder` where it stands.
///
/// # Errors
/// With everything that is wrong with it.
pub(super) fn cases(name: &str, text: &str, folder: &Path) -> Result<Vec<Case>, Error> {
    let source = SourceText::new(name, text);
    let table = rewake_toml::parse(&source)?;
    let document = Document::new(&source);
    let cases = {
        let root = document.root(table.get_ref());
        let reading = Reading { file: name, text, folder };
        let mut cases = Vec::new();
        cases.extend(root.tables("call").iter().filter_map(|fields| reading.call(fields)));
        cases.extend(root.tables("hook").iter().filter_map(|fields| reading.hook(fields)));
        cases.extend(root.tables("session").iter().filter_map(|fields| reading.session(fields)));
        root.refuse_unknown(|key| match key {
            "calls" | "hooks" | "sessions" => Some(format!("write [[{}]]", key.trim_end_matches('s'))),
            _ => None,
        });
        cases.sort_by_key(|case| case.line);
        cases
    };
    if table.get_ref().is_empty() {
        let help = Some("add a [[call]], a [[hook]] or a [[session]]".to_owned());
        return Err(Error::whole_file(name, "has no cases", help));
    }
    document.finish(Some(cases))
}

/// An answer to a request: `{ url = "https://…", status = 404, body = "…" }`.
fn mock(fields: &Fields<'_>) -> Option<HttpMock> {
    fields.require("url", "\"https://api.example.com/items\"");
    let text = |key| fields.text(key).map(|text| text.into_inner());
    let (method, body) = (text("method"), text("body"));
    let status = fields.count("status", 599).map_or(200, |status| status.into_inner());
    let mut headers = Vec::new();
    if let Some(table) = fields.table("headers") {
        for (name, value) in table.entries() {
            match value.get_ref() {
                DeValue::String(text) => headers.push((name.to_owned(), text.to_string())),
                other => {
                    table.wrong_type::<()>(name, value.span(), "the header's value", other);
                }
            }
        }
    }
    let url = fields.some_text("url");
    fields.refuse_unknown(|_| None);
    let url = url?;
    let body = body.unwrap_or_default().into_bytes();
    let status = u16::try_from(status).unwrap_or(u16::MAX);
    let mock = HttpMock::new(method.as_deref().unwrap_or("GET"), url.get_ref(), status, &headers, body);
    match mock {
        Ok(mock) => Some(mock),
        Err(why) => {
            fields.report(url.span(), Invalid::new(format!("the answer cannot be used: {why}")));
            None
        }
    }
}

struct Reading<'r> {
    file: &'r str,
    text: &'r str,
    folder: &'r Path,
}

impl Reading<'_> {
    fn call(&self, fields: &Fields<'_>) -> Option<Case> {
        fields.require("tool", "\"word_count\"");
        let tool = fields.some_text("tool").map(|tool| tool.into_inner());
        let args = json(fields, "args").unwrap_or_else(|| Value::Object(Map::new()));
        let setting = self.setting(fields);
        let name = self.name(fields, || format!("calls {}", tool.as_deref().unwrap_or("a tool")));
        let mut expect = Returned::default();
        let mut files = Files::new();
        if let Some(table) = fields.table("expect") {
            expect = Returned {
                text: table.text("text").map(|text| text.into_inner()),
                contains: pieces(&table, "contains"),
                json: json(&table, "json"),
                error: pieces(&table, "error"),
            };
            files = self.files(&table);
            let returns = expect.text.is_some() || !expect.contains.is_empty() || expect.json.is_some();
            if returns && !expect.error.is_empty() {
                let invalid = Invalid::new("a call that must fail returns nothing");
                fields.report(table.span(), invalid.help("keep `error`, or the other keys"));
            }
            table.refuse_unknown(|_| None);
        }
        fields.refuse_unknown(|_| None);
        let kind = Kind::Call(CallCase { tool: tool?, args, expect, files });
        Some(self.case(fields, name, setting, kind))
    }

    fn hook(&self, fields: &Fields<'_>) -> Option<Case> {
        fields.require("component", "\"guard\"");
        fields.require("event", "\"PreToolUse\"");
        fields.require("expect", "{ verdict = \"deny\" }");
        let component = fields.some_text("component").map(|name| name.into_inner());
        let event = fields.parsed("event", "a string", event);
        let input = json(fields, "input").unwrap_or_else(|| Value::Object(Map::new()));
        let effect = fields.one_of("effect", &EFFECTS);
        let grants = fields.parsed_list("grants", |text| {
            let found = GRANTS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind);
            found.ok_or_else(|| Invalid::new(format!("a grant is http, fs-ro or fs-rw, not {}", quote(text))))
        });
        let setting = self.setting(fields);
        let fired = event.as_ref().and_then(|event| match Fired::new(*event.get_ref(), input) {
            Ok(mut fired) => {
                fired.effect = effect.as_ref().map_or(Effect::Once, |effect| *effect.get_ref());
                fired.grants = grants.iter().flatten().map(|grant| *grant.get_ref()).collect();
                Some(fired)
            }
            Err(why) => {
                let name = event.get_ref().as_str();
                let invalid = Invalid::new(format!("the input of {name} is not as it must be: {why}"));
                fields.report(fields.key_span("input"), invalid);
                None
            }
        });
        let name = self.name(fields, || {
            let event = event.as_ref().map_or("an event", |event| event.get_ref().as_str());
            format!("{} on {event}", component.as_deref().unwrap_or("a hook"))
        });
        let mut expect = Verdict::default();
        let mut files = Files::new();
        if let Some(table) = fields.table("expect") {
            expect = verdict(&table);
            files = self.files(&table);
            table.refuse_unknown(|_| None);
        }
        fields.refuse_unknown(|key| {
            let is_own = matches!(key, "tool" | "tool_name" | "tool_input" | "prompt" | "source");
            is_own.then(|| format!("`{key}` is a field of the event: write it into `input`"))
        });
        let case = HookCase { component: component?, fired: fired?, expect, files };
        Some(self.case(fields, name, setting, Kind::Hook(Box::new(case))))
    }

    fn session(&self, fields: &Fields<'_>) -> Option<Case> {
        fields.require("messages", "[\"Write a note.\"]");
        fields.require("expect", "{ transcript = \"expected/note.txt\" }");
        let bundle = |text: &str| Ok::<_, Invalid>(text.to_owned());
        let agent = fields.parsed("agent", "a string", bundle).map(|agent| agent.into_inner());
        let with = fields.parsed_list("with", bundle).unwrap_or_default();
        let script = self.path(fields, "script");
        let messages = fields.parsed_list("messages", |text| Ok(text.to_owned()));
        let answers = fields.table("answers").map(|table| values(&table)).unwrap_or_default();
        let setting = self.setting(fields);
        let first = messages.iter().flatten().next().map(|first| first.get_ref().clone());
        if messages.as_ref().is_some_and(Vec::is_empty) {
            let invalid = Invalid::new("a session to which nothing is said does nothing");
            fields.report(fields.key_span("messages"), invalid);
        }
        let name = self.name(fields, || format!("answers {:?}", first.unwrap_or_default()));
        let mut case = SessionCase {
            agent: agent.filter(|agent| agent != "."),
            with: with.into_iter().map(|with| with.into_inner()).collect(),
            script,
            messages: messages?.into_iter().map(|message| message.into_inner()).collect(),
            answers,
            transcript: None,
            status: None,
            turn: None,
            says: Vec::new(),
            files: Files::new(),
        };
        if let Some(table) = fields.table("expect") {
            if table.entries().next().is_none() {
                let invalid = Invalid::new("a session of which nothing is expected proves nothing");
                fields.report(
                    table.span(),
                    invalid.help("write what must come of it: expect.turn = \"completed\""),
                );
            }
            case.transcript = self.path(&table, "transcript");
            case.status = table.one_of("status", &Stands::ALL).map(|status| status.into_inner());
            case.turn = table.one_of("turn", &TurnEnd::ALL).map(|turn| turn.into_inner());
            case.says = pieces(&table, "says");
            case.files = self.files(&table);
            table.refuse_unknown(|_| None);
        }
        fields.refuse_unknown(|key| (key == "message").then(|| "write messages = [\"…\"]".to_owned()));
        Some(self.case(fields, name, setting, Kind::Session(case)))
    }

    fn case(&self, fields: &Fields<'_>, name: String, setting: Setting, kind: Kind) -> Case {
        let start = fields.span().start.min(self.text.len());
        let line = self.text[..self.text.floor_char_boundary(start)].matches('\n').count() + 1;
        Case { name, file: self.file.to_owned(), line, setting, kind }
    }

    fn name(&self, fields: &Fields<'_>, else_: impl FnOnce() -> String) -> String {
        fields.some_text("name").map_or_else(else_, |name| name.into_inner())
    }

    fn setting(&self, fields: &Fields<'_>) -> Setting {
        let workspace = match fields.value("workspace") {
            None => Given::Nothing,
            Some(value) => match value.get_ref() {
                DeValue::String(_) => self.path(fields, "workspace").map_or(Given::Nothing, Given::Folder),
                DeValue::Table(_) => {
                    let table = fields.inline_table("workspace", value);
                    Given::Files(table.map(|table| self.given(&table)).unwrap_or_default())
                }
                other => {
                    fields.wrong_type::<()>(
                        "workspace",
                        value.span(),
                        "a folder, or files with their text",
                        other,
                    );
                    Given::Nothing
                }
            },
        };
        let mut dirs = BTreeMap::new();
        if let Some(table) = fields.table("dirs") {
            for (name, value) in table.entries() {
                match value.get_ref() {
                    DeValue::String(text) if is_inside(text) => {
                        dirs.insert(name.to_owned(), self.folder.join(text.as_ref()));
                    }
                    DeValue::String(text) => table.report(value.span(), astray(text)),
                    other => {
                        table.wrong_type::<()>(name, value.span(), "a folder", other);
                    }
                }
            }
        }
        let config = fields.table("config").map(|table| values(&table)).unwrap_or_default();
        let http = fields.tables("http").iter().filter_map(mock).collect();
        Setting { workspace, dirs, config: config.into_iter().collect(), http }
    }

    fn given(&self, table: &Fields<'_>) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for (path, value) in table.entries() {
            match value.get_ref() {
                DeValue::String(text) if is_inside(path) => {
                    files.insert(path.to_owned(), text.to_string());
                }
                DeValue::String(_) => table.report(value.span(), outside(path)),
                other => {
                    table.wrong_type::<()>(path, value.span(), "the file's text", other);
                }
            }
        }
        files
    }

    /// `expect.files`.
    fn files(&self, expect: &Fields<'_>) -> Files {
        let Some(table) = expect.table("files") else { return Files::new() };
        let mut files = Files::new();
        for (path, value) in table.entries() {
            match value.get_ref() {
                _ if !is_inside(path) => table.report(value.span(), outside(path)),
                DeValue::String(text) => {
                    files.insert(path.to_owned(), Some(text.to_string()));
                }
                DeValue::Boolean(false) => {
                    files.insert(path.to_owned(), None);
                }
                other => {
                    let form = "the file's text, or false where it must not be there";
                    table.wrong_type::<()>(path, value.span(), form, other);
                }
            }
        }
        files
    }

    /// A file or folder beside the test.
    fn path(&self, fields: &Fields<'_>, key: &'static str) -> Option<PathBuf> {
        let inside =
            |text: &str| if is_inside(text) { Ok(self.folder.join(text)) } else { Err(astray(text)) };
        fields.parsed(key, "a string", inside).map(|path| path.into_inner())
    }
}

/// Whether a path leads to a file below the folder that it is relative to.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn outside(path: &str) -> Invalid {
    Invalid::new(format!("{} is not a path in the workspace", quote(path)))
        .help("write it from the workspace on, without `..`: \"notes/a.txt\"")
}

fn astray(path: &str) -> Invalid {
    Invalid::new(format!("{} is not a path below the test's folder", quote(path)))
        .help("put what a test needs beside it, and write the path from there on, without `..`")
}

fn verdict(table: &Fields<'_>) -> Verdict {
    let verdict = Verdict {
        decision: table.one_of("verdict", &Decided::ALL).map(|decided| decided.into_inner()),
        reason: pieces(table, "reason"),
        context: pieces(table, "context"),
        input: json(table, "input"),
        title: table.text("title").map(|title| title.into_inner()),
        end_turn: pieces(table, "end_turn"),
        error: pieces(table, "error"),
    };
    if verdict.decision.is_none() && verdict.error.is_empty() {
        table.require("verdict", "\"deny\"");
    }
    verdict
}

/// An event that sessions fire.
fn event(text: &str) -> Result<HookEvent, Invalid> {
    let all = rewake_bundle::HookEvent::ALL;
    let Some(event) = all.into_iter().find(|event| event.as_str() == text) else {
        let help = match rewake_toml::nearest(text, all.into_iter().map(rewake_bundle::HookEvent::as_str)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!(
                "events: {}",
                rewake_toml::quote_all(all.into_iter().map(rewake_bundle::HookEvent::as_str))
            ),
        };
        return Err(Invalid::new(format!("there is no event {}", quote(text))).help(help));
    };
    if !event.is_fired() {
        return Err(Invalid::new(format!("nothing sets off {} in this version", quote(text)))
            .help("leave the case out until it does"));
    }
    Ok(event)
}

/// One text, or several: all of them must be found.
fn pieces(fields: &Fields<'_>, key: &'static str) -> Vec<String> {
    match fields.value(key).map(|value| value.get_ref()) {
        Some(DeValue::Array(_)) => {
            let list = fields.parsed_list(key, |text| Ok(text.to_owned())).unwrap_or_default();
            list.into_iter().map(|text| text.into_inner()).collect()
        }
        _ => fields.some_text(key).map(|text| text.into_inner()).into_iter().collect(),
    }
}

fn json(fields: &Fields<'_>, key: &'static str) -> Option<Value> {
    let value = fields.value(key)?;
    let json = rewake_toml::json(value.get_ref());
    let json = json.map_err(|what| {
        Invalid::new(format!("`{key}` holds {what}, which there is not in JSON")).help("write it as a string")
    });
    fields.checked(value.span(), json).map(|json| json.into_inner())
}

/// Values under names of the author's choice.
fn values(table: &Fields<'_>) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (name, value) in table.entries() {
        match rewake_toml::json(value.get_ref()) {
            Ok(json) => {
                values.insert(name.to_owned(), json);
            }
            Err(what) => {
                let invalid = Invalid::new(format!("{} is {what}, which there is not in JSON", quote(name)));
                table.report(value.span(), invalid.help("write it as a string"));
            }
        }
    }
    values
}

#[cfg(test)]
mod tests;
