//! Reads `[component.NAME]` with its asks, limits and hook declarations.
//!
//! Knows the table, not the component's bytes.

use rewake_core::fact::{HookEvent, OnError, PluginKind};
use rewake_core::grant::{Access, FsSource, HostPattern, Scheme};
use serde_spanned::Spanned;

use super::super::asks::{
    Asks, FsAsk, HttpAsk, ModelAsk, Secret, fs_source, host, method, model_name, secret_format, secret_header,
};
use super::super::limits::MEMORY_BYTES_MAX;
use super::super::matcher::Matcher;
use super::super::names::{artifact_path, component_name, duration, file_path, mount_path, size_bytes};
use super::{Declared, HOOK_TIMEOUT_DEFAULT, Limits, On};
use rewake_toml::Fields;
use rewake_toml::{Invalid, quote, quote_all};

const SIZE: &str = "a size such as \"64MiB\"";
const DURATION: &str = "a duration such as \"5s\"";

pub(super) fn declared(name: &Spanned<&str>, fields: Fields<'_>) -> Option<Declared> {
    let name = fields.checked(name.span(), component_name(name.get_ref()));
    fields.require("kind", "\"tool\"");
    fields.require("source", "\"name.wasm\"");
    let kind = fields.one_of("kind", &PluginKind::ALL.map(|kind| (kind.as_str(), kind)));
    let source = fields.parsed("source", "a path", source);
    let build = fields.some_text("build");
    let build_at = build.as_ref().map(Spanned::span);
    let build = build.map(Spanned::into_inner);
    let artifact = fields.parsed("artifact", "a path", artifact_path);
    if let (Some(artifact), None) = (&artifact, &build) {
        let invalid = Invalid::new("`artifact` is what `build` makes, and there is no `build`")
            .help("add the command that makes it, or take `artifact` out");
        fields.report(artifact.span(), invalid);
    }
    let state_version = fields.count("state_version", u32::MAX.into());
    let asks = fields.table("asks").map(asks).unwrap_or_default();
    let limits = fields.table("limits").map(limits).unwrap_or_default();
    let on: Vec<On> = fields.tables("on").into_iter().filter_map(on).collect();
    if let Some(kind) = &kind {
        check_kind(&fields, *kind.get_ref(), &asks, &limits);
    }
    fields.refuse_unknown(|key| match key {
        "fs" | "http" | "models" => Some(format!("move it into {}", fields.label_of("asks"))),
        "memory" | "timeout" | "fuel" | "output" => {
            Some(format!("move it into {}", fields.label_of("limits")))
        }
        "event" | "matcher" | "on_error" | "rewrites" => {
            Some(format!("move it into [{}]", fields.label_of("on")))
        }
        _ => None,
    });
    Some(Declared {
        name: name?,
        kind: kind?.into_inner(),
        source: source?,
        build,
        build_at,
        artifact: artifact.map(Spanned::into_inner),
        state_version: state_version.and_then(|version| u32::try_from(version.into_inner()).ok()),
        asks,
        limits,
        on,
    })
}

fn source(text: &str) -> Result<String, Invalid> {
    let path = file_path(text)?;
    if path.to_ascii_lowercase().ends_with(".cwasm") {
        return Err(Invalid::new(format!(
            "{} is a compiled artifact, and those are never accepted",
            quote(text)
        ))
        .help("name the component itself (.wasm); each host compiles it on its own"));
    }
    Ok(path)
}

/// Keys that only one kind of component can have, and what that kind cannot ask for.
fn check_kind(fields: &Fields<'_>, kind: PluginKind, asks: &Asks, limits: &Limits) {
    if kind == PluginKind::Hook && !fields.has("on") {
        let label = fields.label_of("on");
        let message = format!("{} is a hook and says nowhere when it runs", fields.label());
        fields.report(fields.span(), Invalid::new(message).help(format!("add [{label}] with an `event`")));
    }
    for (key, only) in [("on", PluginKind::Hook), ("state_version", PluginKind::Harness)] {
        if fields.has(key) && kind != only {
            let message = format!("`{key}` is for a {only}, and {} is a {kind}", fields.label());
            fields.report(fields.key_span(key), Invalid::new(message).help("take it out, or change `kind`"));
        }
    }
    if limits.output_bytes.is_some() && kind != PluginKind::Tool {
        let message = format!("`output` is of what a tool returns, and {} is a {kind}", fields.label());
        fields.report(fields.key_span("limits"), Invalid::new(message).help("take it out of the limits"));
    }
    if kind == PluginKind::Harness && asks.fs.iter().any(|ask| ask.access == Access::ReadWrite) {
        let message = format!("{} is a harness and asks to write files", fields.label());
        let help = "a harness's mounts are read-only (access = \"ro\"): tools change files";
        fields.report(fields.key_span("asks"), Invalid::new(message).help(help));
    }
    if kind != PluginKind::Harness && !asks.models.is_empty() {
        let message = format!("{} is a {kind} and asks for models", fields.label());
        let help = "only a harness can call models: take `models` out of its asks";
        fields.report(fields.key_span("asks"), Invalid::new(message).help(help));
    }
}

fn asks(fields: Fields<'_>) -> Asks {
    let mut asks = Asks::default();
    for entry in fields.tables("fs") {
        let span = entry.span();
        let Some(ask) = fs_ask(entry) else { continue };
        if asks.fs.iter().any(|other| other.mount == ask.mount) {
            let message = format!("the mount {} is asked for twice", quote(&ask.mount));
            fields.report(span, Invalid::new(message).help("give each directory a mount of its own"));
        }
        asks.fs.push(ask);
    }
    asks.http = fields.tables("http").into_iter().filter_map(http_ask).collect();
    for entry in fields.tables("models") {
        let span = entry.span();
        let Some(ask) = model_ask(&entry) else { continue };
        if asks.models.iter().any(|other| other.name == ask.name) {
            let message = format!("the model {} is asked for twice", quote(&ask.name));
            fields.report(span, Invalid::new(message).help("keep one of them"));
        }
        asks.models.push(ask);
    }
    fields.refuse_unknown(|_| None);
    asks
}

fn fs_ask(fields: Fields<'_>) -> Option<FsAsk> {
    fields.require("mount", "\"/workspace\"");
    fields.require("source", "\"workspace\"");
    fields.require("access", "\"ro\"");
    let mount = fields.parsed("mount", "a path", mount_path);
    let source = fields.parsed("source", "a string", fs_source);
    let access = fields.one_of("access", &[("ro", Access::ReadOnly), ("rw", Access::ReadWrite)]);
    let why = fields.some_text("why").map(Spanned::into_inner);
    fields.refuse_unknown(|_| None);
    let (mount, source, access) = (mount?.into_inner(), source?.into_inner(), access?);
    if source == FsSource::Bundle && *access.get_ref() == Access::ReadWrite {
        let invalid = Invalid::new("a bundle's own files cannot be written").help("write access = \"ro\"");
        fields.report(access.span(), invalid);
    }
    Some(FsAsk { mount, source, access: access.into_inner(), why })
}

fn http_ask(fields: Fields<'_>) -> Option<HttpAsk> {
    fields.require("host", "\"api.example.com\"");
    fields.require("methods", "[\"GET\"]");
    let host = fields.parsed("host", "a host", host);
    let methods = fields.parsed_list("methods", method);
    let scheme = fields.one_of("scheme", &[("https", Scheme::Https), ("http", Scheme::Http)]);
    let scheme = scheme.map_or(Scheme::Https, Spanned::into_inner);
    let honours_key = fields.flag("honours_key").is_some_and(Spanned::into_inner);
    let secret = fields.table("secret").and_then(secret);
    let why = fields.some_text("why").map(Spanned::into_inner);
    let is_here = |host: &Spanned<HostPattern>| host.get_ref().address().is_some_and(|at| at.is_loopback());
    if fields.has("secret") && scheme == Scheme::Http && !host.as_ref().is_some_and(is_here) {
        let invalid = Invalid::new("a secret would go over the network in clear text")
            .help("leave `scheme` out; only to an address of this machine, such as 127.0.0.1, it may");
        fields.report(fields.key_span("secret"), invalid);
    }
    if fields.has("secret") && host.as_ref().is_some_and(|host| host.get_ref().is_any()) {
        let invalid = Invalid::new("a secret would go to any host")
            .help("name the host that the secret belongs to, in an entry of its own");
        fields.report(fields.key_span("secret"), invalid);
    }
    let mut distinct: Vec<String> = Vec::new();
    for method in methods.as_deref().unwrap_or_default() {
        if !distinct.contains(method.get_ref()) {
            distinct.push(method.get_ref().clone());
        }
    }
    if fields.list("methods").is_some_and(|methods| methods.get_ref().is_empty()) {
        let invalid =
            Invalid::new("`methods` is empty").help("write the methods it needs, such as [\"GET\"]");
        fields.report(fields.key_span("methods"), invalid);
    }
    fields.refuse_unknown(|_| None);
    if honours_key && !distinct.iter().any(|method| method == "PUT" || method == "DELETE") {
        let invalid = Invalid::new("`honours_key` is about PUT and DELETE, and neither is asked for")
            .help("leave it out");
        fields.report(fields.key_span("honours_key"), invalid);
    }
    Some(HttpAsk { scheme, host: host?.into_inner(), methods: distinct, honours_key, secret, why })
}

fn model_ask(fields: &Fields<'_>) -> Option<ModelAsk> {
    fields.require("name", "\"fast\"");
    let name = fields.parsed("name", "a model's name", model_name);
    let why = fields.some_text("why").map(Spanned::into_inner);
    fields.refuse_unknown(|_| None);
    Some(ModelAsk { name: name?.into_inner(), why })
}

fn secret(fields: Fields<'_>) -> Option<Secret> {
    fields.require("config", "\"api_key\"");
    fields.require("header", "\"Authorization\"");
    let config = fields.some_text("config");
    let header = fields.parsed("header", "a header's name", secret_header);
    let format = fields.parsed("format", "a string such as \"Bearer {}\"", secret_format);
    fields.refuse_unknown(|_| None);
    Some(Secret {
        config: config?,
        header: header?.into_inner(),
        format: format.map_or_else(|| "{}".to_owned(), Spanned::into_inner),
    })
}

fn limits(fields: Fields<'_>) -> Limits {
    let memory = fields.parsed("memory", SIZE, |text| match size_bytes(text)? {
        bytes if bytes > MEMORY_BYTES_MAX => {
            Err(Invalid::new(format!("{} is more than a component can address", quote(text)))
                .help("the most is \"4GiB\""))
        }
        bytes => Ok(bytes),
    });
    let limits = Limits {
        memory_bytes: memory.map(Spanned::into_inner),
        timeout: fields.parsed("timeout", DURATION, duration).map(Spanned::into_inner),
        fuel: fields.count("fuel", i64::MAX.unsigned_abs()).map(Spanned::into_inner),
        output_bytes: fields.parsed("output", SIZE, size_bytes).map(Spanned::into_inner),
    };
    fields.refuse_unknown(|_| None);
    limits
}

fn on(fields: Fields<'_>) -> Option<On> {
    fields.require("event", "\"PreToolUse\"");
    let event = fields.one_of("event", &HookEvent::ALL.map(|event| (event.as_str(), event)));
    if let Some(event) = event.as_ref().filter(|event| !event.get_ref().is_fired()) {
        let fired = HookEvent::ALL.into_iter().filter(|event| event.is_fired()).map(HookEvent::as_str);
        let message =
            format!("this version never fires {}, so the hook would never run", event.get_ref().as_str());
        fields.report(event.span(), Invalid::new(message).help(format!("it fires {}", quote_all(fired))));
    }
    let event = event.map(Spanned::into_inner);
    let matcher = fields.parsed("matcher", "a string", |text| match event {
        Some(event) => Matcher::parse(event, text),
        None => Ok(Matcher::EVERYTHING),
    });
    let on_error = fields.one_of("on_error", &[("deny", OnError::Deny), ("allow", OnError::Allow)]);
    let rewrites = fields.flag("rewrites");
    let timeout = fields.parsed("timeout", DURATION, duration);
    if let (Some(event), Some(rewrites)) = (event, &rewrites)
        && *rewrites.get_ref()
        && !event.can_be_rewritten()
    {
        let message = format!("a hook on {} has nothing to rewrite", event.as_str());
        fields.report(
            rewrites.span(),
            Invalid::new(message)
                .help("`rewrites` is for PreToolUse (the input) and PostToolUse (the output)"),
        );
    }
    fields.refuse_unknown(|_| None);
    let at = fields.span();
    let event = event?;
    Some(On {
        at,
        event,
        matcher: matcher.map_or(Matcher::EVERYTHING, Spanned::into_inner),
        on_error: on_error.map_or(event.default_on_error(), Spanned::into_inner),
        rewrites: rewrites.is_some_and(Spanned::into_inner),
        timeout: timeout.map_or(HOOK_TIMEOUT_DEFAULT, Spanned::into_inner),
    })
}
