//! Names of models, as agents use them, made into what is asked of whom: `[models.NAME]` of the operator's rules,
//! the scripted model, a provider's own name such as `anthropic/…`, or `default`.
//!
//! Knows which keys there are, not what they are. Asks nobody.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rewake_core::limits::cut;

use super::{Resolved, SCRIPTED, Way};
use rewake_egress::ModelAddress;
use rewake_policy::config::{KeySource, Model, Provider, Rules, Thinking};
use rewake_toml::nearest;

/// The name of the model that agents get which do not mind.
pub(crate) const DEFAULT: &str = "default";
/// Tokens of an answer, if neither the request nor the rules say; more where it thinks much.
const OUTPUT_TOKENS: u32 = 16_384;
const OUTPUT_TOKENS_THINKING: u32 = 32_768;
/// Time for one attempt, if the rules do not say. An answer that streams steadily is not cut within it.
const ATTEMPT: Duration = Duration::from_secs(60 * 60);

/// The protocols that providers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Messages, as Anthropic has them.
    Anthropic,
    /// Chat completions, as OpenAI has them.
    OpenAi,
}

/// What is known of a provider without anybody saying it, and the model that `default` means there.
struct Known {
    protocol: Protocol,
    prefix: &'static str,
    base_url: &'static str,
    key_env: &'static str,
    default_model: &'static str,
    default_context_tokens: u64,
}

/// In the order in which `default` looks for a key.
static KNOWN: [Known; 2] = [
    Known {
        protocol: Protocol::Anthropic,
        prefix: "anthropic",
        base_url: "https://api.anthropic.com/v1/",
        key_env: "ANTHROPIC_API_KEY",
        default_model: "claude-sonnet-5",
        default_context_tokens: 1_000_000,
    },
    Known {
        protocol: Protocol::OpenAi,
        prefix: "openai",
        base_url: "https://api.openai.com/v1/",
        key_env: "OPENAI_API_KEY",
        default_model: "gpt-5",
        default_context_tokens: 400_000,
    },
];

static ADDRESSES: LazyLock<[ModelAddress; 2]> = LazyLock::new(|| {
    KNOWN
        .each_ref()
        .map(|known| ModelAddress::parse(known.base_url).expect("the providers' own addresses are URLs"))
});

/// A provider's model: all that is needed to ask it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub(super) protocol: Protocol,
    /// The provider's name for it.
    pub(super) model: String,
    pub(super) address: ModelAddress,
    /// None: it is asked without a key.
    pub(super) key: Option<KeySource>,
    /// Time for one attempt, from the connection to the end of the answer.
    pub(super) timeout: Duration,
    /// Time in which at least one byte must arrive; none: as models that think need it.
    pub(super) idle_timeout: Option<Duration>,
    pub(super) thinking: Option<Thinking>,
    /// Options that requests may set.
    pub(super) options: Vec<String>,
    /// Whether the provider is asked to keep the request for the next one.
    pub(super) cache: bool,
    /// How an error names the place where the model is described.
    pub(super) place: String,
}

impl Protocol {
    fn known(self) -> &'static Known {
        match self {
            Protocol::Anthropic => &KNOWN[0],
            Protocol::OpenAi => &KNOWN[1],
        }
    }

    fn address(self) -> ModelAddress {
        match self {
            Protocol::Anthropic => ADDRESSES[0].clone(),
            Protocol::OpenAi => ADDRESSES[1].clone(),
        }
    }

    /// As the operator's rules name it.
    pub(super) fn name(self) -> &'static str {
        self.known().prefix
    }
}

/// Finds a model by the name that agents use. `has_key` says whether an environment variable is set.
///
/// # Errors
/// There is none: why, and what to do.
pub(super) fn resolve(rules: &Rules, name: &str, has_key: &dyn Fn(&str) -> bool) -> Result<Resolved, String> {
    if let Some(model) = rules.models.get(name) {
        return Ok(configured(name, model));
    }
    if name == SCRIPTED {
        return Ok(scripted(None));
    }
    if name == DEFAULT {
        let known = KNOWN.iter().find(|known| has_key(known.key_env)).ok_or_else(no_default)?;
        return Ok(direct(known, known.default_model, DEFAULT));
    }
    for known in &KNOWN {
        if let Some(model) = name.strip_prefix(known.prefix).and_then(|rest| rest.strip_prefix('/'))
            && !model.is_empty()
        {
            return Ok(direct(known, model, name));
        }
    }
    Err(unknown(rules, name))
}

fn scripted(model: Option<&Model>) -> Resolved {
    Resolved {
        provider: None,
        price: model.and_then(|model| model.price),
        output_tokens_max: model.and_then(|model| model.output_tokens_max).unwrap_or(OUTPUT_TOKENS),
        context_tokens: model.and_then(|model| model.context_tokens),
        way: Way::Script,
    }
}

fn configured(name: &str, model: &Model) -> Resolved {
    let protocol = match model.provider {
        Provider::Scripted => return scripted(Some(model)),
        Provider::Anthropic => Protocol::Anthropic,
        Provider::OpenAi => Protocol::OpenAi,
    };
    let known = protocol.known();
    // The usual key is for the usual address: another one never gets it unasked.
    let usual = || model.base_url.is_none().then(|| KeySource::Env(known.key_env.into()));
    let provider_model = model.model.clone().unwrap_or_default();
    let context = model.context_tokens.or_else(|| context_of(known, &provider_model));
    let spec = Spec {
        protocol,
        model: provider_model,
        address: model.base_url.clone().unwrap_or_else(|| protocol.address()),
        key: model.key.clone().or_else(usual),
        timeout: model.timeout.unwrap_or(ATTEMPT),
        idle_timeout: model.idle_timeout,
        thinking: model.thinking,
        options: model.options.clone(),
        cache: model.cache,
        place: format!("[models.{name}]"),
    };
    let output = model.output_tokens_max.unwrap_or(match model.thinking {
        Some(Thinking::High) => OUTPUT_TOKENS_THINKING,
        _ => OUTPUT_TOKENS,
    });
    of_spec(spec, model.price, output, context)
}

/// A provider's own name for a model, with the provider's usual key.
fn direct(known: &Known, model: &str, name: &str) -> Resolved {
    let spec = Spec {
        protocol: known.protocol,
        model: model.to_owned(),
        address: known.protocol.address(),
        key: Some(KeySource::Env(known.key_env.into())),
        timeout: ATTEMPT,
        idle_timeout: None,
        thinking: None,
        options: Vec::new(),
        cache: true,
        place: format!("[models.{name:?}]"),
    };
    of_spec(spec, None, OUTPUT_TOKENS, context_of(known, model))
}

fn context_of(known: &Known, model: &str) -> Option<u64> {
    (model == known.default_model).then_some(known.default_context_tokens)
}

fn of_spec(
    spec: Spec,
    price: Option<rewake_core::money::Price>,
    output_tokens_max: u32,
    context_tokens: Option<u64>,
) -> Resolved {
    let provider = Some(format!("{}/{}", spec.protocol.name(), spec.model));
    Resolved { provider, price, output_tokens_max, context_tokens, way: Way::Provider(Arc::new(spec)) }
}

fn no_default() -> String {
    let keys: Vec<&str> = KNOWN.iter().map(|known| known.key_env).collect();
    format!(
        "the agent wants the model `default`, and there is none: set {} in the environment, or add to rewake.toml [models.default] with provider = \"anthropic\", model = \"…\" and key_env = \"…\"",
        keys.join(" or ")
    )
}

fn unknown(rules: &Rules, name: &str) -> String {
    let mut known: Vec<&str> = rules.models.keys().map(String::as_str).collect();
    known.extend([DEFAULT, SCRIPTED]);
    let shown = cut(name, 100);
    let near = match nearest(name, known.iter().copied()) {
        Some(near) => format!(": did you mean `{near}`?"),
        None => ".".into(),
    };
    format!(
        "there is no model {shown:?} here{near} There is {}, and what providers have, as `anthropic/MODEL` or `openai/MODEL`; others are added to rewake.toml as [models.NAME]",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::parse(text, Path::new("/etc/rewake/rewake.toml")).unwrap_or_else(|error| panic!("{error}"))
    }

    fn spec(resolved: &Resolved) -> &Spec {
        match &resolved.way {
            Way::Provider(spec) => spec,
            Way::Script => panic!("it is scripted"),
        }
    }

    #[test]
    fn names_are_those_of_the_rules_then_those_of_providers() {
        let rules = rules(
            "[models.fast]\nprovider = \"anthropic\"\nmodel = \"m-1\"\ncontext = 200_000\nprice = { input = 3, output = 15.5 }\n[models.local]\nprovider = \"openai\"\nmodel = \"q\"\nbase_url = \"http://localhost:11434/v1\"",
        );
        let none = |_: &str| false;
        let fast = resolve(&rules, "fast", &none).unwrap();
        assert_eq!((fast.provider.as_deref(), fast.context_tokens), (Some("anthropic/m-1"), Some(200_000)));
        assert_eq!(fast.price.unwrap().output.to_string(), "$15.50");
        assert_eq!(spec(&fast).key, Some(KeySource::Env("ANTHROPIC_API_KEY".into())));
        let local = resolve(&rules, "local", &none).unwrap();
        assert_eq!((&spec(&local).key, spec(&local).address.base()), (&None, "http://localhost:11434/v1/"));
        let direct = resolve(&rules, "openai/some/model", &none).unwrap();
        assert_eq!(spec(&direct).model, "some/model");
        assert_eq!(spec(&direct).address.base(), "https://api.openai.com/v1/");
        assert!(matches!(resolve(&rules, SCRIPTED, &none).unwrap().way, Way::Script));
        let error = resolve(&rules, "fats", &none).unwrap_err();
        assert!(error.contains("did you mean `fast`?") && error.contains("default, scripted"), "{error}");
        assert!(resolve(&rules, "anthropic/", &none).is_err());
    }

    #[test]
    fn the_default_is_where_there_is_a_key() {
        let empty = rules("");
        for (keys, provider) in [
            (&["OPENAI_API_KEY", "ANTHROPIC_API_KEY"][..], "anthropic/claude-sonnet-5"),
            (&["OPENAI_API_KEY"], "openai/gpt-5"),
        ] {
            let found = resolve(&empty, DEFAULT, &|name| keys.contains(&name)).unwrap();
            assert_eq!(found.provider.as_deref(), Some(provider));
            assert!(found.context_tokens.is_some());
        }
        let error = resolve(&empty, DEFAULT, &|_| false).unwrap_err();
        assert!(error.contains("ANTHROPIC_API_KEY or OPENAI_API_KEY"), "{error}");
        assert!(error.contains("[models.default]"), "{error}");
        let own = rules("[models.default]\nprovider = \"scripted\"\nprice = { input = 1, output = 1 }");
        let own = resolve(&own, DEFAULT, &|_| true).unwrap();
        assert!(matches!(own.way, Way::Script) && own.price.is_some() && own.provider.is_none());
    }
}
