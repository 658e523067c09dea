//! Reads the manifest's top level, `[bundle]`, `[agent]` and `[config]`, and what must hold
//! between tables.
//!
//! Does not know what a component's table holds; component.rs does.

use std::collections::BTreeMap;

use rewake_core::fact::PluginKind;
use rewake_core::limits::TURN_STEPS_MAX;
use serde_spanned::Spanned;
use toml::de::DeValue;

use super::super::limits::COMPONENTS_MAX;
use super::super::names::{DataFiles, Name, Use, component_name, file_path};
use super::super::tools::ToolPick;
use super::{API, Agent, ConfigKey, ConfigType, Declared, Instructions, Manifest, SCHEMA, component};
use rewake_toml::{Document, Fields};
use rewake_toml::{Error, Invalid, SourceText, quote, quote_all};

/// `[bundle]`.
struct Head {
    name: Name,
    version: semver::Version,
    license: Option<String>,
    uses: Vec<Spanned<Use>>,
    data: Vec<Spanned<DataFiles>>,
}

pub(super) fn manifest(source: SourceText) -> Result<Manifest, Error> {
    let parsed = {
        let table = rewake_toml::parse(&source)?;
        let document = Document::new(&source);
        let parts = root(&document.root(table.get_ref()));
        document.finish(parts)?
    };
    let (head, agent, components, config) = parsed;
    let Head { name, version, license, uses, data } = head;
    Ok(Manifest { source, name, version, license, uses, data, agent, components, config })
}

type Parts = (Head, Option<Agent>, Vec<Declared>, BTreeMap<String, ConfigKey>);

fn root(fields: &Fields<'_>) -> Option<Parts> {
    schema(fields);
    fields.require_table("bundle", "name, version and api");
    let head = fields.table("bundle").and_then(head);
    let agent = fields.table("agent").map(agent);
    let config = fields.table("config").map(|table| config(&table)).unwrap_or_default();
    let components = fields.table("component").map(|table| components(&table)).unwrap_or_default();
    check_between(fields, agent.as_ref(), &components, &config);
    fields.refuse_unknown(|key| match key {
        "name" | "version" | "license" | "api" | "use" | "files" => {
            Some(format!("move it into [bundle]: a key belongs to the last [table] above it, so write `{key}` below that line"))
        }
        "instructions" | "model" | "harness" | "tools" | "script" => Some("move it into [agent]".to_owned()),
        _ => None,
    });
    Some((head?, agent, components, config))
}

fn schema(fields: &Fields<'_>) {
    fields.require("schema", &SCHEMA.to_string());
    if let Some(schema) = fields.count("schema", u32::MAX.into())
        && *schema.get_ref() != SCHEMA
    {
        let message = format!("manifests of schema {} are not known here", schema.get_ref());
        let help = format!("this version reads schema {SCHEMA}; a newer Rewake may read it");
        fields.report(schema.span(), Invalid::new(message).help(help));
    }
}

fn head(fields: Fields<'_>) -> Option<Head> {
    fields.require("name", "\"scope/name\"");
    fields.require("version", "\"0.1.0\"");
    fields.require("api", &format!("\"{API}\""));
    let name = fields.parsed("name", "a string", str::parse::<Name>);
    let version = fields.parsed("version", "a string such as \"0.1.0\"", version);
    let license = fields.some_text("license");
    fields.parsed("api", &format!("a string such as \"{API}\""), api);
    let uses = fields.parsed_list("use", str::parse::<Use>).unwrap_or_default();
    let data = fields.parsed_list("files", str::parse::<DataFiles>).unwrap_or_default();
    fields.refuse_unknown(|_| None);
    Some(Head {
        name: name?.into_inner(),
        version: version?.into_inner(),
        license: license.map(Spanned::into_inner),
        uses,
        data,
    })
}

/// Nothing after the patch: what differs in a pre-release or in build metadata alone could not be distinguished by name.
fn version(text: &str) -> Result<semver::Version, Invalid> {
    let refuse = |why: String| {
        let help = "write major.minor.patch, such as \"0.1.0\"";
        Invalid::new(format!("{} {why}", quote(text))).help(help)
    };
    let version =
        semver::Version::parse(text).map_err(|error| refuse(format!("is not a version: {error}")))?;
    if version.pre.is_empty() && version.build.is_empty() {
        Ok(version)
    } else {
        Err(refuse("has a pre-release or build metadata".to_owned()))
    }
}

fn api(text: &str) -> Result<(), Invalid> {
    if text == API {
        return Ok(());
    }
    let number = |text: &str| -> Option<(u32, u32)> {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let help = match number(text) {
        Some(wanted) if Some(wanted) > number(API) => {
            format!("this Rewake speaks {API}: use a newer one, or build the bundle for {API}")
        }
        Some(_) => format!("this Rewake speaks {API}: build the bundle again for it"),
        None => format!("write \"{API}\""),
    };
    Err(Invalid::new(format!("the plugin contract {} is not spoken here", quote(text))).help(help))
}

fn agent(fields: Fields<'_>) -> Agent {
    let text = fields.text("instructions");
    let file = fields.parsed("instructions_file", "a path", file_path);
    if fields.has("instructions") && fields.has("instructions_file") {
        let message = "[agent] has both `instructions` and `instructions_file`";
        fields.report(fields.key_span("instructions_file"), Invalid::new(message).help("keep one of them"));
    }
    let max_steps = fields.count("max_steps", TURN_STEPS_MAX.into());
    let agent = Agent {
        instructions: file
            .map(Instructions::File)
            .or_else(|| text.map(|text| Instructions::Text(text.into_inner()))),
        model: fields.some_text("model"),
        max_usd: fields.usd("max_usd", "an amount in USD").map(Spanned::into_inner),
        max_steps: max_steps.and_then(|steps| u32::try_from(steps.into_inner()).ok()),
        script: fields.parsed("script", "a path", file_path),
        harness: fields.parsed("harness", "a component's name", harness),
        tools: tools(&fields),
    };
    fields.refuse_unknown(|_| None);
    agent
}

fn harness(text: &str) -> Result<String, Invalid> {
    let component = match text.split_once(':') {
        Some((bundle, component)) => {
            bundle.parse::<Name>()?;
            component
        }
        None => text,
    };
    component_name(component).map_err(|invalid| {
        invalid.help("write \"component\", or \"scope/name:component\" for another bundle's")
    })?;
    Ok(text.to_owned())
}

fn tools(fields: &Fields<'_>) -> Option<Vec<Spanned<ToolPick>>> {
    let array = fields.list("tools")?.into_inner();
    let picks = array.iter().filter_map(|value| match value.get_ref() {
        DeValue::String(text) => fields.checked(value.span(), ToolPick::parse(text)),
        DeValue::Table(_) => {
            let entry = fields.inline_table("tools", value)?;
            entry.require("from", "\"scope/name:tool\"");
            entry.require("as", "\"new_name\"");
            let from = entry.text("from");
            let name = entry.text("as");
            entry.refuse_unknown(|_| None);
            let pick = ToolPick::renamed(from?.get_ref(), name?.get_ref());
            fields.checked(value.span(), pick)
        }
        other => fields.wrong_type(
            "tools",
            value.span(),
            "an array of names, patterns and { from, as } entries",
            other,
        ),
    });
    Some(picks.collect())
}

fn components(table: &Fields<'_>) -> Vec<Declared> {
    let named = table.named_tables();
    if named.len() > COMPONENTS_MAX {
        let message =
            format!("a bundle has at most {COMPONENTS_MAX} components, and this has {}", named.len());
        table.report(table.span(), Invalid::new(message).help("split it into several bundles"));
    }
    named.into_iter().filter_map(|(name, fields)| component::declared(&name, fields)).collect()
}

fn config(table: &Fields<'_>) -> BTreeMap<String, ConfigKey> {
    let keys = table.named_tables().into_iter().map(|(name, fields)| {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.get_ref().is_empty() || name.get_ref().len() > 64 || !name.get_ref().bytes().all(word) {
            let invalid = Invalid::new(format!("{} is not a configuration key", quote(name.get_ref())));
            table.report(name.span(), invalid.help("use up to 64 letters, digits, `-` and `_`"));
        }
        ((*name.get_ref()).to_owned(), config_key(&fields))
    });
    keys.collect()
}

fn config_key(fields: &Fields<'_>) -> ConfigKey {
    const TYPES: [ConfigType; 4] =
        [ConfigType::String, ConfigType::Integer, ConfigType::Number, ConfigType::Boolean];
    fields.require("type", "\"string\"");
    let value_type = fields.one_of("type", &TYPES.map(|value_type| (value_type.name(), value_type)));
    let sensitive = fields.flag("sensitive").is_some_and(Spanned::into_inner);
    let required = fields.flag("required").is_some_and(Spanned::into_inner);
    let description = fields.text("description").map(Spanned::into_inner);
    let value = fields.value("default");
    let default = match (value, &value_type) {
        (Some(value), Some(value_type)) => default_value(fields, value, *value_type.get_ref()),
        _ => None,
    };
    if let Some(value) = value {
        if sensitive {
            let message = format!("{} is sensitive and has a default", fields.label());
            fields.report(
                value.span(),
                Invalid::new(message).help("take `default` out: everyone who has the bundle could read it"),
            );
        } else if required {
            let message = format!("{} is required and has a default", fields.label());
            fields.report(value.span(), Invalid::new(message).help("keep one of the two"));
        }
    }
    fields.refuse_unknown(|_| None);
    // A key whose type was refused is still a key: nothing that names it is wrong because of that.
    let value_type = value_type.map_or(ConfigType::String, Spanned::into_inner);
    ConfigKey { value_type, default, sensitive, required, description }
}

fn default_value(
    fields: &Fields<'_>,
    value: &Spanned<DeValue<'_>>,
    value_type: ConfigType,
) -> Option<serde_json::Value> {
    let json = rewake_toml::scalar(value.get_ref());
    match json.filter(|json| value_type.accepts(json)) {
        Some(json) => Some(json),
        None => {
            let message = format!("`default` is not of the type \"{}\"", value_type.name());
            fields.report(value.span(), Invalid::new(message).help("make `type` and `default` agree"));
            None
        }
    }
}

/// What no table can know alone: names that stand for something in another one.
fn check_between(
    fields: &Fields<'_>,
    agent: Option<&Agent>,
    components: &[Declared],
    config: &BTreeMap<String, ConfigKey>,
) {
    for secret in
        components.iter().flat_map(|component| &component.asks.http).filter_map(|ask| ask.secret.as_ref())
    {
        let span = secret.config.span();
        let name = secret.config.get_ref();
        match config.get(name) {
            Some(key) if key.sensitive && key.value_type == ConfigType::String => {}
            Some(_) => fields.report(
                span,
                Invalid::new(format!("[config.{name}] is not a secret"))
                    .help("give it `type = \"string\"` and `sensitive = true`"),
            ),
            None => fields.report(
                span,
                Invalid::new(format!("there is no [config] key {}", quote(name)))
                    .help(format!("add [config.{name}] with `type = \"string\"` and `sensitive = true`")),
            ),
        }
    }
    let Some(harness) = agent.and_then(|agent| agent.harness.as_ref()) else { return };
    if let Some(named) = components.iter().find(|component| component.name.get_ref() == harness.get_ref())
        && named.kind != PluginKind::Harness
    {
        let harnesses = components.iter().filter(|component| component.kind == PluginKind::Harness);
        let help =
            format!("harnesses here: {}", quote_all(harnesses.map(|found| found.name.get_ref().as_str())));
        let message = format!("[component.{}] is a {}, not a harness", harness.get_ref(), named.kind);
        fields.report(harness.span(), Invalid::new(message).help(help));
    }
}
