//! Findings in what a bundle declares: its manifest, against what its components import.

use std::time::Duration;

use rewake_bundle::{Bundle, Component, On, TriedOn};
use rewake_toml::{Invalid, nearest, quote, quote_all};

use super::Finding;

/// From here on a timeout in whole hundreds of seconds looks like milliseconds.
const TIMEOUT_SUSPECT: Duration = Duration::from_secs(500);
/// The interface that a component imports to use files, without its version.
const FILES: &str = "wasi:filesystem/";
/// The same for requests.
const HTTP: &str = "rewake:plugin/http@";
/// The same for calls of models.
const MODEL: &str = "rewake:plugin/model@";
/// Interfaces that are linked and refuse every use, with what to use instead.
const DENIED: [(&str, &str); 2] = [
    ("wasi:sockets/", "sockets are never granted: send requests through the contract's http"),
    ("wasi:http/", "requests are sent through the contract's http, not through wasi:http"),
];

/// Everything to say about a bundle that loads. `tools` are the names of all tools that are known here, of
/// this bundle and of those it uses; with none, matchers are not held against them.
pub fn declared(bundle: &Bundle, tools: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifest = bundle.manifest();
    if manifest.license.is_none() {
        let invalid = Invalid::new("[bundle] has no `license`").help("add one, such as license = \"MIT\"");
        findings.push(Finding::note(manifest.problem(0..0, invalid)));
    }
    for component in bundle.components() {
        of_component(bundle, component, &mut findings);
        for on in &component.declared.on {
            of_declaration(bundle, on, tools, &mut findings);
        }
    }
    unused_secrets(bundle, &mut findings);
    findings
}

fn of_component(bundle: &Bundle, component: &Component, findings: &mut Vec<Finding>) {
    let declared = &component.declared;
    let mut say = |make: fn(_) -> Finding, message: String, help: &str| {
        let invalid = Invalid::new(format!("component {}: {message}", quote(component.name()))).help(help);
        findings.push(make(bundle.manifest().problem(declared.name.span(), invalid)));
    };
    let imports = |prefix: &str| component.inspected.imports.iter().any(|name| name.starts_with(prefix));
    if !declared.asks.fs.is_empty() && !imports(FILES) {
        say(
            Finding::warning,
            "asks for files, and imports nothing that opens one".into(),
            "take `fs` out of its asks: nobody should be asked to grant what is not used",
        );
    }
    if !declared.asks.http.is_empty() && !imports(HTTP) {
        say(
            Finding::warning,
            "asks for hosts, and does not import the contract's http".into(),
            "take `http` out of its asks, or use the SDK's http in it",
        );
    }
    if declared.asks.http.is_empty() && imports(HTTP) {
        say(
            Finding::warning,
            "imports the contract's http and asks for no host: every request will be denied".into(),
            "add the hosts that it needs to its asks: http = [{ host = \"api.example.com\", methods = [\"GET\"] }]",
        );
    }
    if !declared.asks.models.is_empty() && !imports(MODEL) {
        say(
            Finding::warning,
            "asks for models, and does not import the contract's model".into(),
            "take `models` out of its asks: the operator should not be asked to grant what is not used",
        );
    }
    for (prefix, help) in DENIED {
        if imports(prefix) {
            let package = prefix.trim_end_matches('/');
            say(Finding::note, format!("imports {package}, and every use of it is denied"), help);
        }
    }
    let asks = &declared.asks;
    let without_why = asks.fs.iter().map(|ask| (format!("the mount {}", ask.mount), &ask.why));
    let without_why =
        without_why.chain(asks.http.iter().map(|ask| (format!("the host {}", ask.host), &ask.why)));
    let models = asks.models.iter().map(|ask| (format!("the model {}", quote(&ask.name)), &ask.why));
    let without_why = without_why.chain(models);
    for (what, _) in without_why.filter(|(_, why)| why.is_none()) {
        say(
            Finding::note,
            format!("does not say why it asks for {what}"),
            "add `why = \"…\"`: the operator who is asked to grant it reads it",
        );
    }
    if let Some(timeout) = declared.limits.timeout.filter(looks_like_milliseconds) {
        let (message, help) = too_long(timeout);
        say(Finding::warning, message, &help);
    }
}

fn of_declaration(bundle: &Bundle, on: &On, tools: &[&str], findings: &mut Vec<Finding>) {
    let mut say = |invalid| {
        findings.push(Finding::warning(bundle.manifest().problem(on.at.clone(), invalid)));
    };
    if looks_like_milliseconds(&on.timeout) {
        let (message, help) = too_long(on.timeout);
        say(Invalid::new(message).help(help));
    }
    if on.event.tried_on() != TriedOn::Tool || tools.is_empty() {
        return;
    }
    if on.matcher.is_pattern() && !tools.iter().any(|tool| on.matcher.matches(tool, None, &[])) {
        let message = format!("the pattern {} matches no tool here", quote(on.matcher.as_str()));
        let help = format!("tools that are known here: {}", quote_all(tools.iter().copied()));
        say(Invalid::new(message).help(help));
    }
    for name in on.matcher.names() {
        if tools.contains(&name) {
            continue;
        }
        let help = match nearest(name, tools.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("tools that are known here: {}", quote_all(tools.iter().copied())),
        };
        say(Invalid::new(format!("the matcher names {}, and no tool here has that name", quote(name)))
            .help(help));
    }
}

/// Sensitive values that no request carries: guests never see them, so nobody does.
fn unused_secrets(bundle: &Bundle, findings: &mut Vec<Finding>) {
    let manifest = bundle.manifest();
    let asks = || manifest.components.iter().flat_map(|component| &component.asks.http);
    let carried = |key: &str| {
        asks().any(|ask| ask.secret.as_ref().is_some_and(|secret| secret.config.get_ref() == key))
    };
    for (key, _) in manifest.config.iter().filter(|(key, value)| value.sensitive && !carried(key)) {
        let message =
            format!("[config.{key}] is sensitive, so that no component sees it, and no request carries it");
        let help =
            format!("name it in a host's ask: secret = {{ config = \"{key}\", header = \"Authorization\" }}");
        findings.push(Finding::warning(manifest.problem(0..0, Invalid::new(message).help(help))));
    }
}

fn looks_like_milliseconds(timeout: &Duration) -> bool {
    *timeout >= TIMEOUT_SUSPECT && timeout.subsec_nanos() == 0 && timeout.as_secs().is_multiple_of(100)
}

fn too_long(timeout: Duration) -> (String, String) {
    let seconds = timeout.as_secs();
    (
        format!("a timeout of {seconds}s is {} minutes", seconds / 60),
        format!("if milliseconds are meant, write \"{seconds}ms\""),
    )
}
