//! Reads `rewake.toml`: which tables and keys there are, and the form of each value.
//!
//! Knows what is written; not whether a bundle has the keys that are set for it (value.rs does).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rewake_core::grant::{Access, Scheme};
use rewake_core::ids::Digest;
use rewake_core::limits::JournalLimits;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    Allow, AllowedAsk, Bounds, CaFile, CompileBounds, FolderBounds, From, HookBundle, HostDir, HttpBounds,
    Limits, Model, OperatorHook, Rules, Setting, models,
};
use rewake_bundle::{Name, component_name, duration, method, size_bytes};
use rewake_toml::{Document, Fields};
use rewake_toml::{Error, Invalid, SourceText, quote};

const SIZE: &str = "a size such as \"64MiB\"";
const DURATION: &str = "a duration such as \"5s\"";

pub(super) fn rules(text: &str, file: &Path) -> Result<Rules, Error> {
    let shown = file.display().to_string();
    // Broken TOML may show anything anywhere; of a whole one it is known where values of configuration are.
    let broken = SourceText::new(shown.as_str(), text).hiding(values_of_lines(text));
    let hidden = config_spans(rewake_toml::parse(&broken)?.get_ref());
    let source = SourceText::new(shown, text).hiding(hidden);
    let folder = file.parent().unwrap_or(Path::new("."));
    let parsed = {
        let table = rewake_toml::parse(&source)?;
        let document = Document::new(&source);
        let parts = root(&document.root(table.get_ref()), folder);
        document.finish(Some(parts))?
    };
    let Parts { dirs, allow, config, hooks, limits, models, ca_file, trust_key } = parsed;
    let none = Rules::none(file.to_owned());
    Ok(Rules { source, dirs, allow, config, hooks, limits, models, ca_file, trust_key, ..none })
}

/// What stands behind the first `=` of each line; all of a line that has none and is no table's head; and all that
/// follows a value which does not end on its line, since nobody knows where that is.
fn values_of_lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut hidden = Vec::new();
    for line in text.split_inclusive('\n') {
        let start = match line.find('=') {
            Some(equals) => equals + 1,
            None if line.trim_start().starts_with('[') && !goes_on(line) => line.len(),
            None => 0,
        };
        if goes_on(&line[start..]) {
            hidden.push(at + start..text.len());
            break;
        }
        hidden.push(at + start..at + line.len());
        at += line.len();
    }
    hidden
}

/// Whether a value may go on behind the end of its line. Comments count as well: then more is hidden than need be.
fn goes_on(value: &str) -> bool {
    let count = |of: &[char]| value.matches(of).count();
    let is_odd = |quote: char| count(&[quote]) % 2 == 1;
    let has_lines = ["\"\"\"", "'''"].iter().any(|quotes| value.contains(quotes));
    has_lines || is_odd('"') || is_odd('\'') || count(&['[', '{']) != count(&[']', '}'])
}

/// Where the values below `[config]` stand.
fn config_spans(root: &DeTable<'_>) -> Vec<Range<usize>> {
    let Some(config) = root.get("config") else { return Vec::new() };
    let mut spans = Vec::new();
    match config.get_ref() {
        DeValue::Table(bundles) => {
            for bundle in bundles.values() {
                match bundle.get_ref() {
                    DeValue::Table(keys) => spans.extend(keys.values().map(Spanned::span)),
                    _ => spans.push(bundle.span()),
                }
            }
        }
        _ => spans.push(config.span()),
    }
    spans
}

struct Parts {
    dirs: BTreeMap<String, HostDir>,
    allow: Vec<Allow>,
    config: BTreeMap<String, BTreeMap<String, Setting>>,
    hooks: Vec<OperatorHook>,
    limits: Limits,
    models: BTreeMap<String, Model>,
    ca_file: Option<CaFile>,
    trust_key: Option<PathBuf>,
}

fn root(fields: &Fields<'_>, folder: &Path) -> Parts {
    let dirs = fields.table("dirs").map(|table| dirs(&table, folder)).unwrap_or_default();
    let allow = allows(fields);
    let config = fields.table("config").map(|table| config(&table, folder)).unwrap_or_default();
    let hooks = fields.tables("hook").into_iter().filter_map(|table| hook(table, folder)).collect();
    let limits = fields.table("limits").map(limits).unwrap_or_default();
    let models = fields.table("models").map(|table| models(&table, folder)).unwrap_or_default();
    let ca_file = fields.table("egress").and_then(|table| egress(&table, folder));
    let trust_key = fields.table("trust").and_then(|table| trust(&table, folder));
    fields.refuse_unknown(|_| None);
    Parts { dirs, allow, config, hooks, limits, models, ca_file, trust_key }
}

fn trust(fields: &Fields<'_>, folder: &Path) -> Option<PathBuf> {
    fields.require("key_file", "\"/etc/rewake/trust.key\"");
    let file = fields.parsed("key_file", "a string", |text| place(text, folder));
    fields.refuse_unknown(|_| None);
    file.map(Spanned::into_inner)
}

fn egress(fields: &Fields<'_>, folder: &Path) -> Option<CaFile> {
    let file = fields.parsed("ca_file", "a string", |text| place(text, folder));
    fields.refuse_unknown(|_| None);
    file.map(|file| CaFile { span: file.span(), path: file.into_inner() })
}

fn dirs(table: &Fields<'_>, folder: &Path) -> BTreeMap<String, HostDir> {
    let mut dirs = BTreeMap::new();
    for (name, fields) in table.named_tables() {
        if rewake_bundle::fs_source(&format!("host:{}", name.get_ref())).is_err() {
            let invalid = Invalid::new(format!("{} is not a name for a directory", quote(name.get_ref())));
            table.report(name.span(), invalid.help("use up to 64 letters, digits, `-` and `_`"));
        }
        fields.require("path", "\"/srv/docs\"");
        fields.require("access", "\"ro\"");
        let path = fields.parsed("path", "a string", |text| place(text, folder));
        let access = fields.one_of("access", &[("ro", Access::ReadOnly), ("rw", Access::ReadWrite)]);
        fields.refuse_unknown(|_| None);
        if let (Some(path), Some(access)) = (path, access) {
            let dir = HostDir { path: path.into_inner(), access: access.into_inner() };
            dirs.insert((*name.get_ref()).to_owned(), dir);
        }
    }
    dirs
}

/// A bundle that is named twice would have what both say, and anyone who means to narrow it with a second entry
/// would narrow nothing.
fn allows(fields: &Fields<'_>) -> Vec<Allow> {
    let mut allows: Vec<Allow> = Vec::new();
    for table in fields.tables("allow") {
        let (span, label) = (table.span(), table.label());
        let Some(new) = allow(&table) else { continue };
        if allows.iter().any(|other| other.bundle == new.bundle && other.digest == new.digest) {
            let message = format!("{label} names {} a second time, with the same digest", new.bundle);
            fields.report(span, Invalid::new(message).help("put what is allowed to it into one [[allow]]"));
        }
        allows.push(new);
    }
    allows
}

fn allow(fields: &Fields<'_>) -> Option<Allow> {
    fields.require("bundle", "\"scope/name\"");
    fields.require("digest", "\"blake3:…\"");
    fields.require("asks", "[\"fs:workspace:ro\"]");
    let bundle = fields.parsed("bundle", "a string", str::parse::<Name>);
    let digest = fields.parsed("digest", "a string", digest);
    let asks = fields.parsed_list("asks", allowed);
    fields.refuse_unknown(|_| None);
    let asks = asks?.into_iter().map(Spanned::into_inner).collect();
    Some(Allow { bundle: bundle?.into_inner().to_string(), digest: digest?.into_inner(), asks })
}

/// A path; relative ones are of the file's folder.
pub(super) fn place(text: &str, folder: &Path) -> Result<PathBuf, Invalid> {
    match text {
        "" => Err(Invalid::new("the path is empty")),
        "~" => Err(home(text)),
        _ if text.starts_with("~/") => Err(home(text)),
        _ if text.contains('\0') => Err(Invalid::new("the path holds a zero byte")),
        _ => Ok(folder.join(text)),
    }
}

fn home(text: &str) -> Invalid {
    Invalid::new(format!("{} is not a path: `~` is only a shell's", quote(text)))
        .help("write the whole path, such as \"/home/ann/docs\"")
}

fn digest(text: &str) -> Result<Digest, Invalid> {
    if text == "*" {
        return Err(Invalid::new("`digest` cannot be `*`: it would allow every version there will ever be")
            .help("name the version that you have looked at; `rewake run` shows its digest"));
    }
    let digest = text.starts_with("blake3:").then(|| Digest::from_hex(text)).flatten();
    digest.ok_or_else(|| {
        Invalid::new(format!("{} is not a digest", quote(text)))
            .help("write `blake3:` and 64 hexadecimal digits; `rewake run` shows a bundle's digest")
    })
}

/// `fs:SOURCE:ACCESS`, `http:HOST:METHOD` or `model:NAME`.
pub(super) fn allowed(text: &str) -> Result<AllowedAsk, Invalid> {
    let refuse = || {
        Invalid::new(format!("{} is not an ask", quote(text))).help(
            "write \"fs:workspace:ro\", \"fs:host:NAME:rw\", \"http:api.example.com:GET\" or \"model:NAME\"",
        )
    };
    if let Some(rest) = text.strip_prefix("fs:") {
        let (source, access) = rest.rsplit_once(':').ok_or_else(refuse)?;
        let access = match access {
            "ro" => Access::ReadOnly,
            "rw" => Access::ReadWrite,
            _ => return Err(refuse()),
        };
        let source = rewake_bundle::fs_source(source)?;
        return Ok(AllowedAsk::Fs(source, access));
    }
    if let Some(name) = text.strip_prefix("model:") {
        return Ok(AllowedAsk::Model(rewake_bundle::model_name(name)?));
    }
    let rest = text.strip_prefix("http:").ok_or_else(refuse)?;
    let (scheme, rest) = match rest.strip_prefix("http://") {
        Some(rest) => (Scheme::Http, rest),
        None => (Scheme::Https, rest),
    };
    let (host, verb) = rest.rsplit_once(':').ok_or_else(refuse)?;
    Ok(AllowedAsk::Http(scheme, rewake_bundle::host(host)?, method(verb)?))
}

fn config(table: &Fields<'_>, folder: &Path) -> BTreeMap<String, BTreeMap<String, Setting>> {
    let mut config = BTreeMap::new();
    for (bundle, fields) in table.named_tables() {
        if let Err(invalid) = bundle.get_ref().parse::<Name>() {
            table.report(
                bundle.span(),
                invalid.help("write [config.\"scope/name\"], with the quotation marks"),
            );
        }
        let settings = fields.entries().filter_map(|(key, value)| {
            let from = from(&fields, key, value, folder)?;
            Some((key.to_owned(), Setting { from, span: value.span() }))
        });
        config.insert((*bundle.get_ref()).to_owned(), settings.collect());
    }
    config
}

fn from<'a>(fields: &Fields<'a>, key: &str, value: &'a Spanned<DeValue<'a>>, folder: &Path) -> Option<From> {
    if let DeValue::Table(_) = value.get_ref() {
        let entry = fields.inline_table(key, value)?;
        let env = entry.some_text("env");
        let file = entry.parsed("file", "a string", |text| place(text, folder));
        entry.refuse_unknown(|_| None);
        return match (env, file) {
            (Some(env), None) => Some(From::Env(env.into_inner())),
            (None, Some(file)) => Some(From::File(file.into_inner())),
            _ => {
                let invalid = Invalid::new(format!("{} comes from nowhere, or from two places", quote(key)));
                entry.report(value.span(), invalid.help("write { env = \"NAME\" } or { file = \"path\" }"));
                None
            }
        };
    }
    match rewake_toml::scalar(value.get_ref()) {
        Some(json) => Some(From::Here(json)),
        None => {
            let message = format!("{} is no value that configuration can have", quote(key));
            let help = "write a string, a number, true or false, { env = \"NAME\" } or { file = \"path\" }";
            fields.report(value.span(), Invalid::new(message).help(help));
            None
        }
    }
}

fn hook(fields: Fields<'_>, folder: &Path) -> Option<OperatorHook> {
    fields.require("bundle", "\"./guard\"");
    fields.require("component", "\"guard\"");
    let bundle = fields.parsed("bundle", "a string", |text| hook_bundle(text, folder));
    let component = fields.parsed("component", "a component's name", component_name);
    let digest = fields.parsed("digest", "a string", digest).map(Spanned::into_inner);
    fields.refuse_unknown(|_| None);
    let span = fields.span();
    Some(OperatorHook { bundle: bundle?.into_inner(), digest, component: component?.into_inner(), span })
}

fn hook_bundle(text: &str, folder: &Path) -> Result<HookBundle, Invalid> {
    if text.starts_with('/') || text == "." || text.starts_with("./") || text.starts_with("../") {
        return Ok(HookBundle::Path(folder.join(PathBuf::from(text))));
    }
    let name = text.parse::<Name>().map_err(|invalid| {
        invalid.help("write \"scope/name\", or a path that starts with `/`, `./` or `../`")
    })?;
    Ok(HookBundle::Named(name.to_string()))
}

fn limits(fields: Fields<'_>) -> Limits {
    let bounds_of = |key| fields.table(key).map(|fields| bounds(&fields, key == "tool")).unwrap_or_default();
    let limits = Limits {
        tool: bounds_of("tool"),
        hook: bounds_of("hook"),
        harness: bounds_of("harness"),
        workspace: fields.table("workspace").map(folder).unwrap_or_default(),
        scratch: fields.table("scratch").map(folder).unwrap_or_default(),
        journal: fields.table("journal").map(journal).unwrap_or_default(),
        compile: fields.table("compile").map(compile).unwrap_or_default(),
        http: fields.table("http").map(http).unwrap_or_default(),
    };
    fields.refuse_unknown(|_| None);
    limits
}

fn size(fields: &Fields<'_>, key: &'static str) -> Option<u64> {
    fields.parsed(key, SIZE, size_bytes).map(Spanned::into_inner)
}

pub(super) fn time(fields: &Fields<'_>, key: &'static str) -> Option<Duration> {
    fields.parsed(key, DURATION, duration).map(Spanned::into_inner)
}

pub(super) fn count_of(fields: &Fields<'_>, key: &'static str, max: u64) -> Option<u64> {
    fields.count(key, max).map(Spanned::into_inner)
}

fn journal(fields: Fields<'_>) -> JournalLimits {
    let usual = JournalLimits::default();
    let limits = JournalLimits {
        turn_bytes_max: size(&fields, "turn").unwrap_or(usual.turn_bytes_max),
        session_bytes_max: size(&fields, "session").unwrap_or(usual.session_bytes_max),
    };
    fields.refuse_unknown(|_| None);
    limits
}

fn compile(fields: Fields<'_>) -> CompileBounds {
    let bounds = CompileBounds {
        component_bytes_max: size(&fields, "component"),
        memory_bytes_max: size(&fields, "memory"),
        cpu_max: time(&fields, "cpu"),
    };
    fields.refuse_unknown(|_| None);
    bounds
}

fn http(fields: Fields<'_>) -> HttpBounds {
    let bounds = HttpBounds {
        request_bytes_max: size(&fields, "request"),
        response_bytes_max: size(&fields, "response"),
        timeout_max: time(&fields, "timeout"),
    };
    fields.refuse_unknown(|_| None);
    bounds
}

fn folder(fields: Fields<'_>) -> FolderBounds {
    let bounds = FolderBounds {
        bytes_max: size(&fields, "size"),
        files_max: fields.count("files", i64::MAX.unsigned_abs()).map(Spanned::into_inner),
    };
    fields.refuse_unknown(|_| None);
    bounds
}

/// Only what a tool returns is cut: a hook and a harness have no output that is not bounded otherwise.
fn bounds(fields: &Fields<'_>, of_tools: bool) -> Bounds {
    let output = if of_tools { size(fields, "output") } else { None };
    let bounds = Bounds {
        memory_bytes_max: size(fields, "memory"),
        timeout_max: time(fields, "timeout"),
        fuel_max: fields.count("fuel", i64::MAX.unsigned_abs()).map(Spanned::into_inner),
        output_bytes_max: output,
    };
    fields.refuse_unknown(|_| None);
    bounds
}

fn models(table: &Fields<'_>, folder: &Path) -> BTreeMap<String, Model> {
    let named = table.named_tables().into_iter();
    named
        .filter_map(|(name, fields)| Some(((*name.get_ref()).to_owned(), models::model(&fields, folder)?)))
        .collect()
}
