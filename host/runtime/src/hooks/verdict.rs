//! What several verdicts on one use come to (hooks.md): deny beats ask beats allow, every context is kept, in
//! the order of the declarations. Knows no hooks.

use rewake_core::fact::{Decision, HookVerdict};

/// What the hooks' verdicts come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Why it may not pass.
    pub(crate) denied: Option<String>,
    /// The first hook that wants a person to say, and why; nothing, where it may not pass anyway.
    pub(crate) asks: Option<(u32, String)>,
    pub(crate) seqs: Vec<u64>,
    pub(crate) contexts: Vec<String>,
}

/// Folds verdicts, in the order of the hooks.
pub(crate) fn fold<'a>(verdicts: impl Iterator<Item = (u64, &'a HookVerdict)>) -> Verdict {
    let mut all: Vec<(u64, &HookVerdict)> = verdicts.collect();
    all.sort_by_key(|(_, verdict)| verdict.hook);
    let mut folded = Verdict::default();
    for (seq, verdict) in all {
        folded.seqs.push(seq);
        folded.contexts.extend(verdict.context.clone());
        let reason = || verdict.reason.clone().or_else(|| verdict.error.clone());
        match verdict.decision {
            Decision::Deny if folded.denied.is_none() => {
                let why = reason().unwrap_or_else(|| "a hook denied it and gave no reason".into());
                folded.denied = Some(why);
            }
            Decision::Ask if folded.asks.is_none() => {
                let why = reason().unwrap_or_else(|| "a hook gave no reason".into());
                folded.asks = Some((verdict.hook, why));
            }
            _ => {}
        }
    }
    if folded.denied.is_some() {
        folded.asks = None;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(hook: u32, decision: Decision, reason: Option<&str>, context: Option<&str>) -> HookVerdict {
        let (reason, context) = (reason.map(Into::into), context.map(Into::into));
        HookVerdict { start: 1, hook, decision, reason, context, ..HookVerdict::default() }
    }

    fn folded(verdicts: &[(u64, HookVerdict)]) -> Verdict {
        fold(verdicts.iter().map(|(seq, verdict)| (*seq, verdict)))
    }

    #[test]
    fn deny_beats_ask_beats_allow_and_all_contexts_are_kept() {
        let deny = (9, verdict(2, Decision::Deny, Some("no"), Some("b")));
        let allow = (8, verdict(1, Decision::Allow, None, Some("a")));
        let ask = (7, verdict(3, Decision::Ask, Some("sure?"), None));
        let all = folded(&[deny.clone(), allow.clone(), ask.clone()]);
        assert_eq!((all.denied.as_deref(), all.asks), (Some("no"), None));
        assert_eq!((all.seqs, all.contexts), (vec![8, 9, 7], vec!["a".to_owned(), "b".to_owned()]));
        let asked = folded(&[ask, allow.clone()]);
        assert_eq!((asked.denied, asked.asks), (None, Some((3, "sure?".to_owned()))));
        let passed = folded(&[allow]);
        assert!(passed.denied.is_none() && passed.asks.is_none());
    }
}
