//! Reads a lock's text: whatever stands in it may have been written by anyone.

use std::collections::BTreeMap;

use rewake_core::effect::Effect;
use rewake_core::ids::Digest;
use serde_spanned::Spanned;

use super::{LOCK_FILE, ListedTool, Lock, LockedComponent, LockedUse, SCHEMA};
use crate::names::{Name, component_name, file_path, tool_name};
use rewake_toml::{Document, Fields};
use rewake_toml::{Error, Invalid, SourceText, quote};

pub(super) fn lock(source: SourceText) -> Result<Lock, Error> {
    let table = rewake_toml::parse(&source)?;
    let document = Document::new(&source);
    let lock = root(&document.root(table.get_ref()));
    document.finish(lock)
}

fn root(fields: &Fields<'_>) -> Option<Lock> {
    fields.require("schema", &SCHEMA.to_string());
    if let Some(schema) = fields.count("schema", u32::MAX.into())
        && *schema.get_ref() != SCHEMA
    {
        let message = format!("locks of schema {} are not known here", schema.get_ref());
        let help =
            format!("this version reads schema {SCHEMA}; write {LOCK_FILE} again with `rewake bundle build`");
        fields.report(schema.span(), Invalid::new(message).help(help));
    }
    fields.require_table("bundle", "name and version");
    let head = fields.table("bundle").and_then(|table| {
        table.require("name", "\"scope/name\"");
        table.require("version", "\"0.1.0\"");
        let name = table.parsed("name", "a string", str::parse::<Name>);
        let version = table.parsed("version", "a string", version);
        table.refuse_unknown(|_| None);
        Some((name?.into_inner(), version?.into_inner()))
    });
    let files = unique(fields, "file", file);
    let components = unique(fields, "component", component);
    let uses = unique(fields, "use", used);
    fields.refuse_unknown(|_| None);
    let (name, version) = head?;
    Some(Lock { name, version, files, components, uses })
}

/// The entries of an array of tables, by what they are known by; none may come twice.
fn unique<'a, K: Ord + AsRef<str>, V>(
    fields: &Fields<'a>,
    key: &'static str,
    read: impl Fn(&Fields<'a>) -> Option<(K, V)>,
) -> BTreeMap<K, V> {
    let mut all = BTreeMap::new();
    for table in fields.tables(key) {
        let entry = read(&table);
        table.refuse_unknown(|_| None);
        let Some((name, value)) = entry else { continue };
        if all.contains_key(&name) {
            let message = format!("{} comes twice", quote(name.as_ref()));
            table.report(table.span(), Invalid::new(message));
            continue;
        }
        all.insert(name, value);
    }
    all
}

fn file(table: &Fields<'_>) -> Option<(String, Digest)> {
    table.require("path", "\"bundle.toml\"");
    let path =
        table.parsed("path", "a path", |text| match file_path(text)? {
            path if path == text => Ok(path),
            path => Err(Invalid::new(format!("{} is not written plainly", quote(text)))
                .help(format!("write \"{path}\""))),
        });
    let digest = digest_of(table);
    Some((path?.into_inner(), digest?))
}

fn component(table: &Fields<'_>) -> Option<(String, LockedComponent)> {
    table.require("name", "\"words\"");
    table.require("contract", "\"0.1.0\"");
    table.require("imports", "[]");
    let name = table.parsed("name", "a component's name", component_name);
    let digest = digest_of(table);
    let contract = table.parsed("contract", "a string", version);
    let imports = table.parsed_list("imports", |text| Ok(text.to_owned()));
    let tools = table.tables("tool").iter().filter_map(tool).collect();
    let locked = LockedComponent {
        digest: digest?,
        contract: contract?.into_inner(),
        imports: imports?.into_iter().map(Spanned::into_inner).collect(),
        tools,
    };
    Some((name?.into_inner(), locked))
}

fn tool(table: &Fields<'_>) -> Option<ListedTool> {
    const EFFECTS: [Effect; 3] = [Effect::Pure, Effect::Idempotent, Effect::Once];
    for (key, example) in
        [("name", "\"count\""), ("description", "\"…\""), ("effect", "\"once\""), ("input_schema", "\"{}\"")]
    {
        table.require(key, example);
    }
    let name = table.parsed("name", "a string", tool_name);
    let description = table.text("description");
    let effect = table.one_of("effect", &EFFECTS.map(|effect| (effect.as_str(), effect)));
    let input_schema = table.text("input_schema");
    table.refuse_unknown(|_| None);
    Some(ListedTool {
        name: name?.into_inner(),
        description: description?.into_inner(),
        effect: effect?.into_inner(),
        input_schema: input_schema?.into_inner(),
    })
}

fn used(table: &Fields<'_>) -> Option<(Name, LockedUse)> {
    table.require("name", "\"scope/name\"");
    table.require("version", "\"0.1.0\"");
    let name = table.parsed("name", "a string", str::parse::<Name>);
    let version = table.parsed("version", "a string", version);
    let digest = digest_of(table);
    Some((name?.into_inner(), LockedUse { version: version?.into_inner(), digest: digest? }))
}

fn digest_of(table: &Fields<'_>) -> Option<Digest> {
    table.require("digest", "\"blake3:…\"");
    let digest = table.parsed("digest", "a string", |text| {
        let digest = text.starts_with("blake3:").then(|| Digest::from_hex(text)).flatten();
        digest.ok_or_else(|| {
            Invalid::new(format!("{} is not a digest", quote(text)))
                .help("it is `blake3:` and 64 hexadecimal digits")
        })
    });
    digest.map(Spanned::into_inner)
}

fn version(text: &str) -> Result<semver::Version, Invalid> {
    semver::Version::parse(text)
        .map_err(|error| Invalid::new(format!("{} is not a version: {error}", quote(text))))
}
