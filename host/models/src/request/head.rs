//! What a request says beside its messages and tools: that it is streamed, how much the model may write, and how
//! much it thinks. Providers say the last two differently from model to model.

use serde_json::{Map, Value, json};

use crate::spec::{Protocol, Spec};
use rewake_policy::config::Thinking;

/// Efforts, with the tokens that Anthropic's models without efforts may think with.
const EFFORTS: [(Thinking, &str, u32); 3] =
    [(Thinking::High, "high", 24_000), (Thinking::Medium, "medium", 8_000), (Thinking::Low, "low", 1_024)];
/// Beginnings of OpenAI's models that know `max_completion_tokens` only.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// The fields of a request that are neither what the harness says nor its options.
pub(crate) fn head(spec: &Spec, output_tokens_max: u32) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("model".into(), spec.model.as_str().into());
    head.insert("stream".into(), true.into());
    match spec.protocol {
        Protocol::Anthropic => anthropic(spec, output_tokens_max, &mut head),
        Protocol::OpenAi => openai(spec, output_tokens_max, &mut head),
    }
    head
}

fn anthropic(spec: &Spec, output_tokens_max: u32, head: &mut Map<String, Value>) {
    head.insert("max_tokens".into(), output_tokens_max.into());
    let Some(wanted) = spec.thinking else { return };
    let claude = Claude::of(&spec.model);
    // Thinking is part of the answer: what does not fit into its bound is less.
    let fitting = EFFORTS
        .iter()
        .skip_while(|(thinking, ..)| *thinking != wanted)
        .find(|(.., budget)| *budget < output_tokens_max);
    let Some((_, effort, budget)) = fitting else {
        if claude.thinks_unasked() {
            head.insert("thinking".into(), json!({ "type": "disabled" }));
        }
        return;
    };
    if claude.has_efforts() {
        head.insert("output_config".into(), json!({ "effort": effort }));
    }
    if claude.is_adaptive() {
        head.insert("thinking".into(), json!({ "type": "adaptive", "display": "summarized" }));
    } else if !claude.has_efforts() {
        head.insert("thinking".into(), json!({ "type": "enabled", "budget_tokens": budget }));
    }
}

fn openai(spec: &Spec, output_tokens_max: u32, head: &mut Map<String, Value>) {
    let name = spec.model.rsplit("::").next().unwrap_or_default();
    let takes_completion = COMPLETION_TOKENS.iter().any(|beginning| name.starts_with(beginning));
    let key = if takes_completion { "max_completion_tokens" } else { "max_tokens" };
    head.insert(key.into(), output_tokens_max.into());
    if let Some(wanted) = spec.thinking {
        let effort = EFFORTS.iter().find(|(thinking, ..)| *thinking == wanted);
        head.insert("reasoning_effort".into(), effort.map_or("none", |(_, effort, _)| effort).into());
    }
    if charges_for_cache(name) {
        head.insert("prompt_cache_options".into(), json!({ "mode": "explicit" }));
    }
}

/// Whether OpenAI charges for what it keeps of a request: GPT 5.6 and later. With explicit marks only, and none set,
/// it keeps nothing.
fn charges_for_cache(name: &str) -> bool {
    let version = name.strip_prefix("gpt-").and_then(|rest| rest.split('-').next()).unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let version = major.parse::<u32>().ok().zip(minor.parse::<u32>().ok());
    version.is_some_and(|version| version >= (5, 6))
}

/// A model of Anthropic's, as its name tells: `claude-opus-4-6`, with anything before and behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claude {
    /// Of a family, with its version.
    Version(Family, (u32, u32)),
    /// Thinks always.
    Always,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Opus,
    Sonnet,
    Haiku,
}

impl Claude {
    fn of(name: &str) -> Claude {
        if name.contains("fable") || name.contains("mythos") {
            return Claude::Always;
        }
        let mut parts = name.split_once("claude-").map_or("", |(_, rest)| rest).split('-');
        let family = match parts.next() {
            Some("opus") => Family::Opus,
            Some("sonnet") => Family::Sonnet,
            Some("haiku") => Family::Haiku,
            _ => return Claude::Other,
        };
        match parts.next().and_then(number) {
            Some(major) => Claude::Version(family, (major, parts.next().and_then(number).unwrap_or(0))),
            None => Claude::Other,
        }
    }

    fn has_efforts(self) -> bool {
        match self {
            Claude::Version(Family::Opus, version) => version >= (4, 5),
            other => other.is_adaptive(),
        }
    }

    fn is_adaptive(self) -> bool {
        match self {
            Claude::Version(Family::Opus | Family::Sonnet, version) => version >= (4, 6),
            Claude::Version(Family::Haiku, version) => version >= (5, 0),
            Claude::Always => true,
            Claude::Other => false,
        }
    }

    /// Whether it thinks unless it is told not to. Some cannot be told.
    fn thinks_unasked(self) -> bool {
        matches!(self, Claude::Version(_, version) if version >= (5, 0))
    }
}

/// A version's number: one or two digits. More are a date.
fn number(part: &str) -> Option<u32> {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    (digits <= 2).then(|| part[..digits].parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, model: &str, thinking: Option<Thinking>, output_tokens_max: u32) -> Value {
        let spec = Spec { model: model.into(), thinking, ..crate::fuzzing::spec(protocol) };
        let mut head = head(&spec, output_tokens_max);
        assert_eq!(head.remove("model"), Some(model.into()));
        assert_eq!(head.remove("stream"), Some(true.into()));
        head.into()
    }

    #[test]
    fn anthropic_s_models_are_told_in_the_words_that_they_know() {
        let adaptive = json!({ "type": "adaptive", "display": "summarized" });
        let high = |thinking: Value| json!({ "max_tokens": 32_000, "output_config": { "effort": "high" }, "thinking": thinking });
        let budget =
            json!({ "max_tokens": 32_000, "thinking": { "type": "enabled", "budget_tokens": 24_000 } });
        let disabled = json!({ "max_tokens": 32_000, "thinking": { "type": "disabled" } });
        let nothing = json!({ "max_tokens": 32_000 });
        let effort_alone = json!({ "max_tokens": 32_000, "output_config": { "effort": "high" } });
        for (model, asked, off) in [
            ("claude-sonnet-5", high(adaptive.clone()), &disabled),
            ("claude-opus-5-1", high(adaptive.clone()), &disabled),
            ("claude-haiku-5", high(adaptive.clone()), &disabled),
            ("claude-opus-4-6-20260105", high(adaptive.clone()), &nothing),
            ("claude-sonnet-4-6@20260105", high(adaptive.clone()), &nothing),
            ("eu.anthropic.claude-opus-4-8-v1:0", high(adaptive.clone()), &nothing),
            ("claude-fable", high(adaptive.clone()), &nothing),
            ("claude-opus-4-5", effort_alone, &nothing),
            ("claude-opus-4-20250514", budget.clone(), &nothing),
            ("claude-opus-4-1", budget.clone(), &nothing),
            ("claude-sonnet-4-5", budget.clone(), &nothing),
            ("claude-haiku-4-5", budget.clone(), &nothing),
            ("claude-3-7-sonnet-latest", budget.clone(), &nothing),
            ("m-1", budget.clone(), &nothing),
        ] {
            let head = |thinking| written(Protocol::Anthropic, model, thinking, 32_000);
            assert_eq!(head(Some(Thinking::High)), asked, "{model}");
            assert_eq!(&head(Some(Thinking::Off)), off, "{model}");
            assert_eq!(head(None), nothing, "{model}");
        }
        let small = written(Protocol::Anthropic, "claude-sonnet-5", Some(Thinking::High), 8_001);
        assert_eq!(small["output_config"]["effort"], "medium");
        let none = written(Protocol::Anthropic, "claude-sonnet-5", Some(Thinking::High), 1_024);
        assert_eq!(none["thinking"]["type"], "disabled");
    }

    #[test]
    fn openai_s_models_are_told_in_the_words_that_they_know() {
        let explicit = json!({ "mode": "explicit" });
        for (model, key, cache) in [
            ("gpt-4o", "max_tokens", None),
            ("qwen3", "max_tokens", None),
            ("gpt-5", "max_completion_tokens", None),
            ("gpt-5.5-pro", "max_completion_tokens", None),
            ("gpt-5.6-sol", "max_completion_tokens", Some(&explicit)),
            ("gpt-5.10", "max_completion_tokens", Some(&explicit)),
            ("vendor::gpt-6", "max_completion_tokens", Some(&explicit)),
            ("o3-mini", "max_completion_tokens", None),
            ("gpt-oss-120b", "max_tokens", None),
        ] {
            for (thinking, effort) in [
                (None, None),
                (Some(Thinking::Off), Some("none")),
                (Some(Thinking::Low), Some("low")),
                (Some(Thinking::High), Some("high")),
            ] {
                let mut expected = json!({ key: 100 });
                if let Some(effort) = effort {
                    expected["reasoning_effort"] = effort.into();
                }
                if let Some(cache) = cache {
                    expected["prompt_cache_options"] = cache.clone();
                }
                assert_eq!(written(Protocol::OpenAi, model, thinking, 100), expected, "{model} {thinking:?}");
            }
        }
    }
}
