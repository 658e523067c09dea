//! What must hold of hosts that have a session one after another, or believe that they do: of the lease's margin, of
//! clocks, and of sessions beside each other.

use std::collections::BTreeMap;

use rewake_core::fact::{Fact, Observed};
use rewake_runtime::lease::{LEASE_MS, MARGIN_MS};

use crate::check::{Checked, ensure};
use crate::evidence::{Evidence, started};

/// How long after it asked for its lease a host begins nothing any more: the store keeps a lease a margin longer than
/// its host has it, and that one begins nothing within its last margin.
const BEGINS_MS: u64 = LEASE_MS - 2 * MARGIN_MS;

/// R0: a host begins an effect only while its lease outlasts a margin, by a clock that counts the time in which it
/// stood still; except for what it stands still between that look at its lease and the effect.
pub(crate) fn margins(evidence: &Evidence) -> Checked {
    for begun in &evidence.begun {
        let since_ms = begun.at_ms.saturating_sub(begun.asked_ms);
        ensure(since_ms.saturating_sub(begun.excused_ms) < BEGINS_MS, || {
            let excused_ms = begun.excused_ms;
            format!(
                "host {} began {:?} {since_ms} ms after it had asked for its lease, {excused_ms} ms of them excused",
                begun.host, begun.line
            )
        })?;
    }
    Ok(())
}

/// R0: who takes over waits a margin: nothing that the host before began then begins in the last two of them, by
/// clocks that go alike.
pub(crate) fn takeovers(evidence: &Evidence) -> Checked {
    for taken in &evidence.takeovers {
        let of_before = |begun: &&crate::scene::Begun| begun.host == taken.from && begun.epoch < taken.epoch;
        for begun in evidence.begun.iter().filter(of_before) {
            let looked_ms = begun.at_ms - begun.excused_ms;
            ensure(looked_ms + 2 * MARGIN_MS < taken.at_ms, || {
                format!(
                    "host {} began {:?} at {looked_ms} ms, and was overtaken at {} ms",
                    begun.host, begun.line, taken.at_ms
                )
            })?;
        }
    }
    Ok(())
}

/// R0, R3: a host does only what it has itself written that it begins, and no oftener.
pub(crate) fn own_effects(evidence: &Evidence) -> Checked {
    let mut tries: BTreeMap<(u32, String), usize> = BTreeMap::new();
    let started = started(&evidence.entries);
    for entry in &evidence.entries {
        let start = match &entry.fact {
            Fact::ToolStarted(_) => entry.seq,
            Fact::CallRetried(body) => body.start,
            _ => continue,
        };
        if let Some(line) = started.get(&start).and_then(|one| one.line.clone()) {
            *tries.entry((evidence.writer(entry.seq), line)).or_default() += 1;
        }
    }
    let mut done: BTreeMap<(u32, String), usize> = BTreeMap::new();
    for begun in &evidence.begun {
        *done.entry((begun.host, begun.line.clone())).or_default() += 1;
    }
    for ((host, line), times) in done {
        let tries = tries.get(&(host, line.clone())).copied().unwrap_or(0);
        ensure(times <= tries, || {
            format!("host {host} did {line:?} {times} times, and wrote {tries} times that it does")
        })?;
    }
    Ok(())
}

/// R7: a session's monotonic clock never goes back, whatever host reads it and however wall clocks are set.
pub(crate) fn clocks(evidence: &Evidence) -> Checked {
    let mut last_ns = 0;
    for entry in &evidence.entries {
        let Fact::StepObserved(body) = &entry.fact else { continue };
        for item in &body.items {
            let Observed::Monotonic(ns) = item else { continue };
            ensure(*ns >= last_ns, || format!("time goes back from {last_ns} to {ns} ns at {}", entry.seq))?;
            last_ns = *ns;
        }
    }
    Ok(())
}

/// R0: what goes wrong with a session has no other one loaded again.
pub(crate) fn isolation(evidence: &Evidence) -> Checked {
    if evidence.disturbances > 0 {
        return Ok(());
    }
    let loads = evidence.entries.iter().filter(|entry| matches!(entry.fact, Fact::SessionLoaded(_))).count();
    ensure(loads == 1, || format!("it was loaded {loads} times, and nothing went wrong with it"))
}
