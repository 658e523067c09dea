//! A session's journal as items for people: what was said, asked, requested, done and decided, in the order of its
//! entries, with the names that later entries do not repeat. Items are data; how they look is the renderers' concern,
//! each of which is with its user. A sentence that all of them show is made here, once.
//!
//! Knows entries. Makes no text safe for a terminal: renderers do, and say how long a piece of others' text may be.

mod item;
mod marker;
mod sentence;
pub mod words;

use std::collections::{BTreeMap, BTreeSet};

use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{Asker, Created, Decision, Fact, HookEvent, HookVerdict, ToolsRequested};
use rewake_core::session::Session;
use rewake_wire::ActorType;

pub use self::item::{End, Item, Request, Tone};
pub use self::marker::{COMPACTED, marker};

/// Turns the entries of one session into items.
#[derive(Debug)]
pub struct Transcript {
    /// What sentences show of a text of others.
    shown: fn(&str) -> String,
    /// Each hook's component, and its event.
    hooks: Vec<(String, HookEvent)>,
    /// The tools of each request, by turn, step and ordinal.
    tools: BTreeMap<(u32, u32, u32), Vec<String>>,
    /// Uses whose denial was shown with its reason.
    denied: BTreeSet<Place>,
    /// Questions about a use, and the use.
    questions: BTreeMap<String, Place>,
}

impl Transcript {
    /// Of a session from its first entry. `shown` says what sentences show of a text of others, such as a reason.
    pub fn new(shown: fn(&str) -> String) -> Transcript {
        Transcript {
            shown,
            hooks: Vec::new(),
            tools: BTreeMap::new(),
            denied: BTreeSet::new(),
            questions: BTreeMap::new(),
        }
    }

    /// Of the entries that follow; it knows what the open step has requested.
    pub fn resuming(session: &Session, shown: fn(&str) -> String) -> Transcript {
        let mut transcript = Transcript::new(shown);
        if let Some(created) = session.created.as_deref() {
            transcript.keep_hooks(created);
        }
        if let Some((_, step)) = session.open_step() {
            step.entries.iter().for_each(|entry| transcript.keep(entry));
        }
        transcript
    }

    /// The items of the next entry; many have none.
    pub fn push<'a>(&mut self, entry: &'a Entry) -> Vec<Item<'a>> {
        self.keep(entry);
        let mut items = self.items(entry);
        items.extend(self.sentence(entry));
        items
    }

    fn keep(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::SessionCreated(created) => self.keep_hooks(created),
            Fact::ToolsRequested(ToolsRequested { uses }) => {
                let names = uses.iter().map(|one| (self.shown)(&one.name)).collect();
                self.tools.insert(request(entry.place), names);
            }
            Fact::HookVerdict(body) if body.decision == Decision::Deny => {
                self.denied.insert(entry.place);
            }
            Fact::QuestionAsked(body) if body.by != Asker::Harness => {
                self.questions.insert(body.question.id.clone(), entry.place);
            }
            Fact::TurnStarted(_) => {
                self.tools.clear();
                self.denied.clear();
                self.questions.clear();
            }
            _ => {}
        }
    }

    fn keep_hooks(&mut self, created: &Created) {
        let name = |component: u32| created.components.get(component as usize).map(|pin| pin.full_name());
        let hooks = created.hooks.iter();
        self.hooks = hooks.map(|hook| (name(hook.component).unwrap_or_default(), hook.event)).collect();
    }

    fn items<'a>(&self, entry: &'a Entry) -> Vec<Item<'a>> {
        let place = entry.place;
        vec![match &entry.fact {
            Fact::UserMessage(body) => Item::UserMessage(body),
            Fact::AgentMessage(body) => Item::AgentMessage(body),
            Fact::QuestionAsked(body) => Item::Question(&body.question, self.about(&body.question.id)),
            Fact::UserAnswer(body) => Item::Answer(body, self.about(&body.question)),
            Fact::Custom(body) => Item::Marker(body),
            Fact::LogLines(body) => Item::Logs(body),
            Fact::ModelStarted(body) => Item::ModelStarted(body),
            Fact::ModelCompleted(body) => Item::ModelCompleted(body),
            Fact::ModelLost(body) => Item::ModelLost(body),
            Fact::CallRetried(body) => Item::Retried(body),
            Fact::ToolsRequested(body) => {
                let uses = (0..).zip(&body.uses);
                let item = |(index, one)| Item::Requested(place.at_index(index), Request::Tool(one));
                return uses.map(item).collect();
            }
            Fact::ToolStarted(body) => Item::Started(place, body.class),
            Fact::ToolCompleted(body) => self.ended(place, End::Tool(body)),
            Fact::ToolLost(body) => Item::ToolLost(place, self.name(place), body.why),
            Fact::HttpStarted(body) => {
                let requested = Item::Requested(place, Request::Http(&body.request));
                return vec![requested, Item::Started(place, body.class)];
            }
            Fact::HttpCompleted(body) => self.ended(place, End::Http(body)),
            Fact::HttpLost(body) => Item::HttpLost(place, body),
            Fact::HookStarted(body) => Item::HookStarted(entry.seq, place, body),
            Fact::HookVerdict(body) => self.verdict(entry, body),
            _ => return vec![],
        }]
    }

    fn ended<'a>(&self, place: Place, end: End<'a>) -> Item<'a> {
        Item::Ended { place, name: self.name(place), end, is_denial_shown: self.denied.contains(&place) }
    }

    fn verdict<'a>(&self, entry: &'a Entry, verdict: &'a HookVerdict) -> Item<'a> {
        let pinned = self.hooks.get(verdict.hook as usize);
        let hook = match entry.actor.kind {
            ActorType::Hook => Some(entry.actor.id.clone()),
            _ => pinned.map(|(name, _)| name.clone()),
        };
        let about = (entry.place.ordinal > 0).then(|| self.name(entry.place));
        Item::Verdict { place: entry.place, hook, event: pinned.map(|(_, event)| *event), about, verdict }
    }

    /// The use that a question is about.
    fn about(&self, question: &str) -> Option<Place> {
        self.questions.get(question).copied()
    }

    /// The tool that a place in a request names.
    fn name(&self, place: Place) -> String {
        let names = self.tools.get(&request(place));
        let name = names.and_then(|names| names.get(place.index as usize));
        name.cloned().unwrap_or_else(|| "a tool".to_owned())
    }
}

fn request(place: Place) -> (u32, u32, u32) {
    (place.turn, place.step, place.ordinal)
}
