//! Values of a bundle's configuration: what its manifest declares against what the operator sets. Values
//! that are sensitive stay here; errors name keys and places, never a value.

use std::io::Read as _;
use std::path::Path;

use super::{From, Rules, Setting};
use rewake_bundle::{Bundle, ConfigKey, ConfigType};
use rewake_toml::{Error, Invalid, Problem, nearest, quote, quote_all};

/// Bytes of a value.
const VALUE_BYTES_MAX: u64 = 64 << 10;

/// Keys that must have a value and have none; and the lines that would set them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    /// The keys without a value.
    pub keys: Vec<String>,
    /// The lines of rewake.toml that would set them.
    pub lines: String,
}

/// The values of a bundle that its guests may see: JSON text. Sensitive ones are checked and left out.
///
/// # Errors
/// What is wrong with what the operator sets, at its place; then what is not set and must be.
pub fn values(rules: &Rules, bundle: &Bundle) -> Result<Result<String, Unset>, Error> {
    let declared = &bundle.manifest().config;
    let name = bundle.name().as_str();
    let mut problems: Vec<Problem> = Vec::new();
    for (key, setting) in rules.config.get(name).into_iter().flatten() {
        if !declared.contains_key(key) {
            let known = declared.keys().map(String::as_str);
            let help = match nearest(key, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has: {}", quote_all(known)),
            };
            let message = format!("{name} has no configuration key {}", quote(key));
            problems.push(rules.source.problem(setting.span.clone(), Invalid::new(message).help(help)));
        }
    }
    let mut values = serde_json::Map::new();
    let mut unset = Vec::new();
    for (key, declared) in declared {
        match rules.setting(name, key) {
            Some(setting) => match typed(setting, declared) {
                Ok(_) if declared.sensitive => {}
                Ok(_) if !matches!(setting.from, From::Here(_)) => {
                    let message = format!(
                        "{} is kept outside of these rules, and this version of {name} does not declare it \
                         sensitive: its guests, and the journal, would have it",
                        quote(key)
                    );
                    let help = "if everybody may know it, write the value itself here; else its author has to \
                                declare it `sensitive = true`";
                    problems
                        .push(rules.source.problem(setting.span.clone(), Invalid::new(message).help(help)));
                }
                Ok(value) => {
                    values.insert(key.clone(), value);
                }
                Err(why) => {
                    let invalid = Invalid::new(format!("the value of {} {why}", quote(key)));
                    problems.push(rules.source.problem(setting.span.clone(), invalid));
                }
            },
            None => match &declared.default {
                Some(_) if declared.sensitive => {}
                Some(value) => {
                    values.insert(key.clone(), value.clone());
                }
                None if declared.required => unset.push((key, declared)),
                None => {}
            },
        }
    }
    let values = Error::unless_none(problems, Some(values))?;
    if unset.is_empty() {
        return Ok(Ok(serde_json::Value::Object(values).to_string()));
    }
    let lines: Vec<String> = unset.iter().map(|(key, declared)| line(key, declared)).collect();
    Ok(Err(Unset {
        keys: unset.iter().map(|(key, _)| (*key).clone()).collect(),
        lines: format!("[config.{name:?}]\n{}", lines.join("\n")),
    }))
}

/// What is unsafe about where the operator keeps a bundle's sensitive values, a line each.
pub fn exposed(rules: &Rules, bundle: &Bundle) -> Vec<String> {
    let sensitive = bundle.manifest().config.iter().filter(|(_, declared)| declared.sensitive);
    sensitive.filter_map(|(key, _)| super::file::exposed(rules, bundle.name().as_str(), key)).collect()
}

/// The line that would set a key.
fn line(key: &str, declared: &ConfigKey) -> String {
    let value = match declared.value_type {
        _ if declared.sensitive => format!("{{ env = {:?} }}", key.to_uppercase().replace('-', "_")),
        ConfigType::String => "\"…\"".to_owned(),
        ConfigType::Integer => "0".to_owned(),
        ConfigType::Number => "0.0".to_owned(),
        ConfigType::Boolean => "false".to_owned(),
    };
    let comment = declared.description.as_deref().unwrap_or_default();
    let comment = rewake_text::one_line(comment, 100);
    if comment.is_empty() { format!("{key} = {value}") } else { format!("{key} = {value} # {comment}") }
}

/// A value as the manifest wants it. The error does not show it.
fn typed(setting: &Setting, declared: &ConfigKey) -> Result<serde_json::Value, String> {
    let value_type = declared.value_type;
    let value = match &setting.from {
        From::Here(value) if declared.sensitive && *value == "" => return Err("is empty".into()),
        From::Here(value) => value.clone(),
        From::Env(_) | From::File(_) => {
            let text = text(setting)?;
            if text.is_empty() {
                return Err("is empty".into());
            }
            match value_type {
                ConfigType::String => text.into(),
                _ => serde_json::from_str(text.trim()).unwrap_or_default(),
            }
        }
    };
    if value_type.accepts(&value) {
        Ok(value)
    } else {
        Err(format!("is not of the type \"{}\"", value_type.name()))
    }
}

/// A value as text. The error does not show it.
pub(super) fn text(setting: &Setting) -> Result<String, String> {
    text_from(&setting.from)
}

/// A value as text. The error does not show it.
pub(super) fn text_from(from: &From) -> Result<String, String> {
    match from {
        From::Here(serde_json::Value::String(text)) => Ok(text.clone()),
        From::Here(other) => Ok(other.to_string()),
        From::Env(name) => match std::env::var(name) {
            Ok(text) => Ok(text),
            Err(std::env::VarError::NotPresent) => {
                Err(format!("is to come from the environment variable {}, which is not set", quote(name)))
            }
            Err(std::env::VarError::NotUnicode(_)) => Err(format!(
                "is to come from the environment variable {}, which is no UTF-8 text",
                quote(name)
            )),
        },
        From::File(path) => {
            let whence = || format!("is to come from the file {}, which", quote(&path.display().to_string()));
            let bytes = read_file(path, VALUE_BYTES_MAX)
                .map_err(|why| format!("{} cannot be read: {why}", whence()))?;
            let text = String::from_utf8(bytes).map_err(|_| format!("{} is no UTF-8 text", whence()))?;
            let text = text.strip_suffix('\n').unwrap_or(&text);
            Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
        }
    }
}

/// Reads a file of at most so many bytes.
pub(super) fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let is_file = std::fs::metadata(path).map_err(|error| error.to_string())?.is_file();
    if !is_file {
        return Err("it is not a regular file".into());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("it is larger than {bytes_max} bytes"));
    }
    Ok(bytes)
}
