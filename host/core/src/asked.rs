//! What the fold keeps of the requests that a session sent to models: which lists of messages are in the store,
//! so that the next one can go on from one of them (R14); and what a provider counted last, so that the next
//! request's size is known well enough to reserve its cost (R5). Small, and the same on every host.

use serde::{Deserialize, Serialize};

use crate::fact::{ModelStarted, Stored};
use crate::ids::Digest;

/// Lists of messages that are remembered: a harness may keep a few conversations going at once.
pub(crate) const LISTS_MAX: usize = 8;

/// What is known of a session's requests to models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The lists of messages sent last, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lists: Vec<List>,
    /// Where the newest request is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    newest: Option<Stored>,
    /// The newest request that a provider counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
}

/// A list of messages that the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// Messages in it.
    pub messages: u32,
    /// Of all their digests, in order.
    pub through: Digest,
    /// Its blob.
    pub blob: Digest,
}

/// A request that a provider counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    /// The model, as agents name it, and as its provider does.
    model: String,
    provider: Option<String>,
    system: Option<Digest>,
    tools: Option<Digest>,
    messages: u32,
    through: Digest,
    /// Tokens of the request and its answer together.
    tokens: u64,
}

impl Asked {
    /// A request is sent.
    pub fn started(&mut self, body: &ModelStarted) {
        let Some(stored) = body.stored else { return };
        self.newest = Some(stored);
        self.lists.retain(|list| list.blob != stored.list);
        self.lists.truncate(LISTS_MAX - 1);
        let list = List { messages: body.messages, through: stored.through, blob: stored.list };
        self.lists.insert(0, list);
    }

    /// A request was answered, and counted. A count of nothing says nothing.
    pub fn completed(&mut self, started: &ModelStarted, tokens: u64) {
        let Some(stored) = started.stored.filter(|_| tokens > 0) else { return };
        self.counted = Some(Counted {
            model: started.model.clone(),
            provider: started.provider.clone(),
            system: stored.system,
            tools: stored.tools,
            messages: started.messages,
            through: stored.through,
            tokens,
        });
    }

    /// The longest list in the store that a list of messages begins with: `through(n)` is what the digests of
    /// its first n messages come to, for those that it has.
    pub fn longest(&self, through: impl Fn(u32) -> Option<Digest>) -> Option<List> {
        let is_prefix = |list: &&List| list.messages > 0 && through(list.messages) == Some(list.through);
        self.lists.iter().filter(is_prefix).max_by_key(|list| list.messages).copied()
    }

    /// What of a new request need not be written: the newest one named it.
    pub fn newest(&self) -> Option<&Stored> {
        self.newest.as_ref()
    }

    /// Messages that a request begins with and its provider has counted, and the tokens that they, the system text,
    /// the tools and the answer to them were: only of the same model, system text and tools.
    pub fn counted(
        &self,
        body: &ModelStarted,
        through: impl Fn(u32) -> Option<Digest>,
    ) -> Option<(u32, u64)> {
        let (counted, stored) = (self.counted.as_ref()?, body.stored.as_ref()?);
        let is_same = counted.model == body.model
            && counted.provider == body.provider
            && counted.system == stored.system
            && counted.tools == stored.tools
            && through(counted.messages) == Some(counted.through);
        is_same.then_some((counted.messages, counted.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Usd;

    fn through(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn started(text: &str) -> ModelStarted {
        let stored = Stored {
            system: None,
            tools: None,
            options: None,
            list: Digest::of(format!("list {text}").as_bytes()),
            through: through(text),
        };
        ModelStarted {
            model: "m".into(),
            provider: Some("p/m".into()),
            request: Digest::of(text.as_bytes()),
            messages: text.len() as u32,
            stored: Some(stored),
            reserved: Usd::ZERO,
        }
    }

    /// Each byte of a text is a message.
    fn of(text: &'static str) -> impl Fn(u32) -> Option<Digest> {
        move |count| text.get(..count as usize).map(through)
    }

    #[test]
    fn a_list_goes_on_from_the_longest_there_is() {
        let mut asked = Asked::default();
        for text in ["a", "ab", "x", "abc", ""] {
            asked.started(&started(text));
        }
        let longest = |text| asked.longest(of(text)).map(|list| list.messages);
        assert_eq!(
            [longest("abcd"), longest("abx"), longest("xy"), longest("q")],
            [Some(3), Some(2), Some(1), None]
        );
    }

    #[test]
    fn few_lists_are_kept_and_each_once() {
        let mut asked = Asked::default();
        for _ in 0..3 {
            for text in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
                asked.started(&started(text));
            }
        }
        assert_eq!(asked.lists.len(), LISTS_MAX);
        assert!(asked.longest(of("a")).is_none() && asked.longest(of("b")).is_some());
        asked.started(&started("i"));
        assert_eq!(asked.lists.len(), LISTS_MAX);
    }

    #[test]
    fn a_count_holds_for_the_same_model_system_and_tools_only() {
        let mut asked = Asked::default();
        asked.completed(&started("ab"), 100);
        let same = started("abc");
        assert_eq!(asked.counted(&same, of("abc")), Some((2, 100)));
        assert_eq!(asked.counted(&same, of("axc")), None);
        assert_eq!(asked.counted(&same, of("a")), None);
        let stored = same.stored.unwrap();
        for other in [
            ModelStarted { model: "n".into(), ..same.clone() },
            ModelStarted { provider: None, ..same.clone() },
            ModelStarted { stored: Some(Stored { system: Some(through("s")), ..stored }), ..same.clone() },
            ModelStarted { stored: Some(Stored { tools: Some(through("t")), ..stored }), ..same.clone() },
            ModelStarted { stored: None, ..same.clone() },
        ] {
            assert_eq!(asked.counted(&other, of("abc")), None, "{other:?}");
        }
        asked.completed(&started("abc"), 0);
        assert_eq!(asked.counted(&same, of("abc")), Some((2, 100)), "nothing counted is no count");
    }
}
