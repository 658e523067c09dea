//! Hooks: which of them an event is for, and asking them side by side (hooks.md). What one answer comes to is
//! in `ask.rs`, what several come to in `verdict.rs`, what they are given in `payload.rs`. Knows no steps.

mod ask;
pub(crate) mod left;
mod payload;
mod standalone;
mod verdict;

use std::sync::Arc;

use rewake_core::effect::Effect;
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{CallRetried, Created, Fact, HookEvent, HookVerdict, ToolPin};
use rewake_core::firing::Firing;
use rewake_core::grant::Grants;
use rewake_core::ids::Digest;

pub(crate) use self::ask::{Asked, ask, failed};
pub(crate) use self::payload::{HookPayload, Used};
pub use self::standalone::{Answered, Fired};
pub(crate) use self::standalone::{ask_alone, random_key};
pub(crate) use self::verdict::{Verdict, fold};
use crate::context::SessionContext;
use crate::event::{DriverHandle, Unrecorded};
use crate::join_all::join_all;
use rewake_bundle::{GrantKind, Matcher};

/// What a matcher is tested on: a name, and what the thing of that name can do.
pub(crate) struct MatchTarget<'a> {
    pub(crate) name: &'a str,
    pub(crate) effect: Effect,
    pub(crate) grants: Vec<GrantKind>,
}

impl<'a> MatchTarget<'a> {
    /// A tool.
    pub(crate) fn tool(cx: &SessionContext, tool: &'a ToolPin) -> Self {
        let grants = tool.component.map(|index| grant_kinds(&cx.component(index).grants));
        let grants = grants.unwrap_or_default();
        MatchTarget { name: &tool.name, effect: tool.effect, grants }
    }
}

/// The hooks of an event that are for it, in the order in which their verdicts are folded.
pub(crate) fn matching(cx: &SessionContext, event: HookEvent, target: &MatchTarget<'_>) -> Vec<u32> {
    let hooks = (0u32..).zip(cx.created.hooks.iter().zip(&cx.matchers));
    hooks
        .filter(|(_, (pin, _))| pin.event == event)
        .filter(|(_, (_, matcher))| matcher.matches(target.name, Some(target.effect), &target.grants))
        .map(|(index, _)| index)
        .collect()
}

/// The matchers of pinned hooks. What was pinned could be read then; what cannot be read now judges
/// everything.
pub(crate) fn matchers(created: &Created) -> Vec<Matcher> {
    let hooks = created.hooks.iter();
    hooks.map(|pin| Matcher::parse(pin.event, &pin.matcher).unwrap_or(Matcher::EVERYTHING)).collect()
}

fn grant_kinds(grants: &Grants) -> Vec<GrantKind> {
    let mounts = grants.fs.iter().map(|grant| GrantKind::of_mount(grant.access));
    let http = (!grants.http.is_empty()).then_some(GrantKind::Http);
    let mut kinds: Vec<GrantKind> = mounts.chain(http).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// A hook that is asked about a use, a request, or how one ended.
pub(crate) struct Judged {
    /// Which of the uses.
    pub(crate) at: usize,
    pub(crate) hook: u32,
    pub(crate) place: Place,
    pub(crate) binding: Digest,
    pub(crate) payload: HookPayload,
}

/// A verdict on a use: which of the uses, the verdict's seq, the verdict.
pub(crate) type Answer = (usize, u64, HookVerdict);

/// Asks the hooks that the session itself is due to ask.
pub(crate) async fn fire(
    cx: Arc<SessionContext>,
    driver: DriverHandle,
    turn: Option<u32>,
    firings: Vec<(Firing, HookPayload)>,
) -> Result<(), Unrecorded> {
    let drafts = firings.iter().map(|(firing, _)| starting(&cx, firing)).collect();
    let entries = driver.record(drafts, true).await?;
    let due = firings.into_iter().zip(entries);
    let due = due.filter(|(_, entry)| !matches!(entry.fact, Fact::HookVerdict(_)));
    let asks = due.map(|((firing, payload), entry)| {
        let (start, key) = match firing.start {
            Some(start) => (start.seq, start.key),
            None => (entry.seq, entry.hash),
        };
        let (hook, binding, place) = (firing.hook, firing.binding, firing.place);
        let (cx, driver) = (cx.clone(), driver.clone());
        async move {
            let asked = Asked { hook, start, key: key.to_hex(), binding, place };
            let busy = cx.busy().await;
            driver.record(ask(&cx, &busy, asked, turn, &payload).await, false).await
        }
    });
    join_all(asks.collect()).await.map(|_| ())
}

/// What stands in the journal before a hook is asked: one entry a firing.
fn starting(cx: &SessionContext, firing: &Firing) -> Draft {
    let fact: Fact = match firing.start {
        None => firing.started().into(),
        Some(start) => match start.next_try {
            Some(n) => CallRetried::again(start.seq, n).into(),
            None => failed(cx, firing.hook, start.seq, firing.binding, "it was tried too often").into(),
        },
    };
    Draft::system(firing.place, fact)
}
