//! `rewake bundle inspect`: what a bundle is, what it asks for, and what it would get here. Runs `list-tools`
//! without any grant, and nothing else.

use std::collections::BTreeSet;

use clap::Args;
use rewake_bundle::{Bundle, Component, ListedTool, Locator, PluginKind, Use};
use rewake_policy::grants::{self, Asked};
use rewake_runtime::host::find;
use rewake_text::one_line;
use serde_json::{Value, json};

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::forms::LOCATOR;
use crate::out::{Out, Style};

/// Characters of what an author wrote, on one line.
const LINE_CHARS_MAX: usize = 160;

/// Show what a bundle is, what it asks for, and what it would get here.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The bundle: a folder, a packed file or an installed one's name
    #[arg(value_name = "BUNDLE", default_value = ".", value_parser = LOCATOR)]
    bundle: Locator,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// A component, and what it lists and asks for.
struct Seen<'a> {
    component: &'a Component,
    tools: Vec<ListedTool>,
    asked: Vec<Asked>,
}

/// `rewake bundle inspect`.
pub(crate) async fn inspect(places: &Places, asked: &Inspect) -> Result<Outcome, Failure> {
    let store = places.catalogue().await?;
    let bundle = find(store.as_ref(), &asked.bundle).await?;
    let rules = places.rules_file().read();
    let rules = rules.map_err(rewake_runtime::HostError::Rules)?;
    let workbench = places.workbench()?;
    let mut seen = Vec::new();
    for component in bundle.components() {
        let tools = workbench.tools(&bundle, component).await.map_err(rewake_runtime::HostError::Plan)?;
        let asked = grants::would_get(&rules, &bundle, component);
        seen.push(Seen { component, tools, asked });
    }
    let mut out = Out::new();
    match asked.json {
        true => out.json(&as_json(&bundle, &seen))?,
        false => show(&mut out, &bundle, &seen)?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn show(out: &mut Out, bundle: &Bundle, seen: &[Seen<'_>]) -> Result<(), Failure> {
    let manifest = bundle.manifest();
    let license = manifest.license.as_deref().unwrap_or("no licence named");
    out.line(Style::Strong, &format!("{} {} ({license})", bundle.name(), manifest.version))?;
    let lock =
        if bundle.lock().is_some() { "" } else { " (no bundle.lock: `rewake bundle build` writes it)" };
    out.line(Style::Plain, &format!("  digest blake3:{}{lock}", bundle.digest()))?;
    for used in &manifest.uses {
        let used = match used.get_ref() {
            Use::Path(path) => path.clone(),
            Use::Named(name, wanted) => format!("{name}@{wanted}"),
        };
        out.line(Style::Plain, &format!("  uses {used}"))?;
    }
    for (key, value) in &manifest.config {
        let mut words = vec![value.value_type.name()];
        words.extend(value.sensitive.then_some("sensitive"));
        words.extend(value.required.then_some("required"));
        let why = value.description.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let line = format!("  config {key} ({}){why}", words.join(", "));
        out.line(Style::Plain, &one_line_after(&line))?;
    }
    seen.iter().try_for_each(|seen| show_component(out, seen))
}

fn show_component(out: &mut Out, seen: &Seen<'_>) -> Result<(), Failure> {
    let component = seen.component;
    let size = describe::bytes(component.bytes().len() as u64);
    out.line(Style::Plain, "")?;
    out.line(Style::Strong, &format!("{} {} ({size})", component.kind(), component.name()))?;
    for tool in &seen.tools {
        let line = format!("  tool {} ({}): {}", tool.name, tool.effect.as_str(), tool.description);
        out.line(Style::Plain, &one_line_after(&line))?;
        for argument in arguments(&tool.input_schema) {
            out.line(Style::Dim, &one_line_after(&format!("    {argument}")))?;
        }
    }
    for on in &component.declared.on {
        let matcher = if on.matcher.as_str().is_empty() { "*" } else { on.matcher.as_str() };
        let rewrites = if on.rewrites { ", rewrites" } else { "" };
        out.line(Style::Plain, &format!("  on {} {matcher}{rewrites}", on.event.as_str()))?;
    }
    if seen.asked.is_empty() {
        out.line(Style::Plain, "  asks for nothing")?;
    }
    for one in &seen.asked {
        let why = one.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let here = if one.is_granted { "allowed here" } else { "not allowed here yet" };
        let line = format!("  may {} [{}; {here}]{why}", one.words, one.ask);
        out.line(if one.is_granted { Style::Plain } else { Style::Strong }, &one_line_after(&line))?;
    }
    let packages: Vec<&str> = packages(component).into_iter().collect();
    out.line(Style::Dim, &format!("  imports {}", packages.join(", ")))
}

/// What it imports, by package: linked, whether it is granted anything or not.
fn packages(component: &Component) -> BTreeSet<&str> {
    let all = component.inspected.imports.iter();
    all.map(|name| match name.strip_prefix("wasi:") {
        Some(_) => name.split('/').next().unwrap_or(name),
        None => name.split('@').next().unwrap_or(name),
    })
    .collect()
}

/// The arguments of a tool, from its schema: `path (string, required): what it is`.
fn arguments(schema: &str) -> Vec<String> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return Vec::new() };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let argument = |(name, value): (&String, &Value)| {
        let kind = match &value["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
            _ => "any".to_owned(),
        };
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let what = value["description"].as_str().map(|what| format!(": {what}")).unwrap_or_default();
        format!("{name} ({kind}{needed}){what}")
    };
    properties.map(argument).collect()
}

/// A line without what an author could break it with; the blanks at its front stay.
fn one_line_after(line: &str) -> String {
    let text = line.trim_start();
    format!("{}{}", " ".repeat(line.len() - text.len()), one_line(text, LINE_CHARS_MAX))
}

fn as_json(bundle: &Bundle, seen: &[Seen<'_>]) -> Value {
    let manifest = bundle.manifest();
    let component = |seen: &Seen<'_>| {
        let component = seen.component;
        let tool = |tool: &ListedTool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "effect": tool.effect.as_str(),
                "input_schema": serde_json::from_str::<Value>(&tool.input_schema).unwrap_or(Value::Null),
            })
        };
        let ask = |one: &Asked| json!({ "ask": one.ask, "words": one.words, "why": one.why, "is_granted": one.is_granted });
        let on = |on: &rewake_bundle::On| json!({ "event": on.event.as_str(), "matcher": on.matcher.as_str(), "rewrites": on.rewrites });
        json!({
            "name": component.name(),
            "kind": component.kind().as_str(),
            "digest": format!("blake3:{}", component.digest),
            "bytes": component.bytes().len(),
            "imports": component.inspected.imports,
            "tools": seen.tools.iter().map(tool).collect::<Vec<_>>(),
            "on": component.declared.on.iter().map(on).collect::<Vec<_>>(),
            "asks": seen.asked.iter().map(ask).collect::<Vec<_>>(),
        })
    };
    json!({
        "bundle": bundle.name().as_str(),
        "version": manifest.version.to_string(),
        "digest": format!("blake3:{}", bundle.digest()),
        "is_locked": bundle.lock().is_some(),
        "has_agent": manifest.agent.is_some(),
        "has_harness": bundle.components().iter().any(|component| component.kind() == PluginKind::Harness),
        "components": seen.iter().map(component).collect::<Vec<_>>(),
    })
}
