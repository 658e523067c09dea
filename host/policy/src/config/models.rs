//! `[models]`: whom models are asked of, with which key, at which price and within which bounds.
//!
//! Knows what is written, and reads a key when it is needed. What is asked of a provider is `providers/`'.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rewake_core::money::{Price, Usd};
use serde_spanned::Spanned;

use super::parse::{count_of, place, time};
use super::{From, value};
use rewake_egress::{ModelAddress, Secret};
use rewake_toml::Fields;
use rewake_toml::{Invalid, quote};

/// Tokens that a model's bounds may be.
const TOKENS_MAX: u64 = 100_000_000;
/// Options of a request that are the host's: what they say is decided elsewhere, or they change what is paid and for
/// what.
const OWN_OPTIONS: [&str; 27] = [
    "audio",
    "cache_control",
    "container",
    "inference_geo",
    "max_completion_tokens",
    "max_tokens",
    "mcp_servers",
    "messages",
    "modalities",
    "model",
    "models",
    "n",
    "output_config",
    "plugins",
    "reasoning_effort",
    "service_tier",
    "speed",
    "stream",
    "stream_options",
    "system",
    "thinking",
    "tools",
    "functions",
    "input",
    "instructions",
    "store",
    "web_search_options",
];

/// A model of a provider, as the operator describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Who provides it.
    pub provider: Provider,
    /// The provider's name for it; none: it is scripted.
    pub model: Option<String>,
    /// Where it is asked, instead of the provider's own address.
    pub base_url: Option<ModelAddress>,
    /// Where the key is; none: the provider's usual variable, or no key where there is a `base_url`.
    pub key: Option<KeySource>,
    /// What its tokens cost; none: nobody said.
    pub price: Option<Price>,
    /// Tokens of request and answer together.
    pub context_tokens: Option<u64>,
    /// Tokens of an answer, where the request does not bound them.
    pub output_tokens_max: Option<u32>,
    /// Time for one attempt, from the connection to the answer's end.
    pub timeout: Option<Duration>,
    /// Time in which at least one byte of the answer must arrive.
    pub idle_timeout: Option<Duration>,
    /// How much it thinks before it answers; none: as the provider has it.
    pub thinking: Option<Thinking>,
    /// Sampling options that harnesses may set.
    pub options: Vec<String>,
    /// Whether the provider is asked to keep the request for the next one.
    pub cache: bool,
}

/// Who provides models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic, and who speaks its protocol.
    Anthropic,
    /// OpenAI, and who speaks its protocol.
    OpenAi,
    /// A script.
    Scripted,
}

/// How much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all.
    Off,
    /// Little.
    Low,
    /// More.
    Medium,
    /// Much.
    High,
}

/// Where a model's key is. The key itself is read when it is used, and kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// In an environment variable.
    Env(String),
    /// In a file, without the line feed at its end.
    File(PathBuf),
}

impl KeySource {
    /// Reads the key.
    ///
    /// # Errors
    /// Why there is none, without it.
    pub fn read(&self) -> Result<Secret, String> {
        let from = match self {
            KeySource::Env(name) => From::Env(name.clone()),
            KeySource::File(path) => From::File(path.clone()),
        };
        let text = value::text_from(&from).map_err(|why| format!("the key {why}"))?;
        if text.trim().is_empty() {
            return Err(format!("{self} is empty"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("{self} holds something else than a key: spaces, line feeds or no ASCII"));
        }
        Ok(Secret::new(text))
    }
}

/// As a person knows it: `the key in ANTHROPIC_API_KEY`.
impl std::fmt::Display for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeySource::Env(name) => write!(f, "the key in the environment variable {}", quote(name)),
            KeySource::File(path) => write!(f, "the key in the file {}", quote(&path.display().to_string())),
        }
    }
}

/// Reads one `[models.NAME]`.
pub(super) fn model(fields: &Fields<'_>, folder: &Path) -> Option<Model> {
    const PROVIDERS: [(&str, Provider); 3] =
        [("anthropic", Provider::Anthropic), ("openai", Provider::OpenAi), ("scripted", Provider::Scripted)];
    const THINKING: [(&str, Thinking); 4] = [
        ("off", Thinking::Off),
        ("low", Thinking::Low),
        ("medium", Thinking::Medium),
        ("high", Thinking::High),
    ];
    fields.require("provider", "\"anthropic\"");
    let provider = fields.one_of("provider", &PROVIDERS).map(Spanned::into_inner);
    let model = fields.some_text("model").map(Spanned::into_inner);
    let base_url = fields.parsed("base_url", "a string", address);
    let key = key(fields, folder);
    let tokens = |key| count_of(fields, key, TOKENS_MAX);
    let (context_tokens, output) = (tokens("context"), tokens("max_tokens"));
    let (timeout, idle_timeout) = (time(fields, "timeout"), time(fields, "idle_timeout"));
    let thinking = fields.one_of("thinking", &THINKING).map(Spanned::into_inner);
    let options = fields.parsed_list("options", option).unwrap_or_default();
    let cache = fields.flag("cache").is_none_or(Spanned::into_inner);
    let price = fields.table("price").and_then(|fields| price(&fields, provider));
    fields.refuse_unknown(|_| None);
    let provider = provider?;
    if provider == Provider::Scripted {
        only_of_providers(fields);
    } else {
        fields.require("model", "\"…\"");
    }
    Some(Model {
        provider,
        model,
        base_url: base_url.map(Spanned::into_inner),
        key,
        price,
        context_tokens,
        output_tokens_max: output.and_then(|tokens| u32::try_from(tokens).ok()),
        timeout,
        idle_timeout,
        thinking,
        options: options.into_iter().map(Spanned::into_inner).collect(),
        cache,
    })
}

/// A script is asked nowhere, and with no key.
fn only_of_providers(fields: &Fields<'_>) {
    for key in [
        "model",
        "base_url",
        "key_env",
        "key_file",
        "timeout",
        "idle_timeout",
        "thinking",
        "options",
        "cache",
    ] {
        if fields.has(key) {
            let invalid = Invalid::new(format!("{} has `{key}`, and a script has none", fields.label()));
            fields.report(fields.key_span(key), invalid.help("take it out, or name another provider"));
        }
    }
}

fn address(text: &str) -> Result<ModelAddress, Invalid> {
    ModelAddress::parse(text).map_err(|why| {
        Invalid::new(format!("`base_url` cannot be used: {why}"))
            .help("write the address before `/messages` or `/chat/completions`, such as \"http://localhost:11434/v1\"")
    })
}

fn key(fields: &Fields<'_>, folder: &Path) -> Option<KeySource> {
    let env = fields.some_text("key_env");
    let file = fields.parsed("key_file", "a string", |text| place(text, folder));
    match (env, file) {
        (Some(_), Some(file)) => {
            let invalid = Invalid::new(format!("the key of {} comes from two places", fields.label()));
            fields.report(file.span(), invalid.help("keep `key_env` or `key_file`"));
            None
        }
        (Some(env), None) => Some(KeySource::Env(env.into_inner())),
        (None, file) => file.map(|file| KeySource::File(file.into_inner())),
    }
}

fn option(text: &str) -> Result<String, Invalid> {
    if OWN_OPTIONS.contains(&text) {
        return Err(Invalid::new(format!("{} is not an option that harnesses may set", quote(text)))
            .help("name sampling options, such as \"temperature\" or \"top_p\""));
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(Invalid::new(format!("{} is not an option's name", quote(text)))
            .help("write it as the provider does, such as \"top_p\""));
    }
    Ok(text.to_owned())
}

/// What is not said of the cache is dear rather than cheap: a cap must hold.
fn price(fields: &Fields<'_>, provider: Option<Provider>) -> Option<Price> {
    fields.require("input", "3.0");
    fields.require("output", "15.0");
    let (input, output) = (amount(fields, "input"), amount(fields, "output"));
    let (cache_read, cache_write) = (amount(fields, "cache_read"), amount(fields, "cache_write"));
    fields.refuse_unknown(|_| None);
    let input = input?;
    let written = match provider {
        Some(Provider::Anthropic) => input.plus(Usd::from_nanos(input.nanos().div_ceil(4))),
        _ => input,
    };
    Some(Price {
        input,
        output: output?,
        cache_read: cache_read.unwrap_or(input),
        cache_write: cache_write.unwrap_or(written),
    })
}

fn amount(fields: &Fields<'_>, key: &'static str) -> Option<Usd> {
    fields.usd(key, "a price in USD a million tokens").map(Spanned::into_inner)
}
