//! `replay`, `verify` and `clear-fault`: whether a journal holds, whether its steps do again what they did,
//! and letting a session try again after somebody has looked.

use rewake_core::ids::SessionId;
use rewake_runtime::host;
use rewake_store::Sessions as _;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style, note};

/// Sessions read at once.
const PAGE: u32 = 200;

/// `rewake replay`: runs every completed step again, fed with what was recorded.
pub(crate) async fn replay(places: &Places, id: &SessionId) -> Result<Outcome, Failure> {
    let opened = places.host(places.read().await?)?;
    let replayed = opened.host.replay(id).await;
    opened.close().await;
    let replayed = replayed?;
    let mut out = Out::new();
    let steps = describe::count(u64::from(replayed.steps), "step", "steps");
    let fed =
        describe::count(replayed.fed, "recorded call or observation", "recorded calls and observations");
    out.line(Style::Plain, &format!("{id}: {steps} did the same again, fed with {fed}"))?;
    if replayed.skipped > 0 {
        let skipped = describe::count(u64::from(replayed.skipped), "step", "steps");
        out.line(Style::Plain, &format!("{skipped} did not end well and so left nothing to compare with"))?;
    }
    let outcome = match &replayed.mismatch {
        None => Outcome::Done,
        Some(mismatch) => {
            out.line(Style::Bad, &format!("{id} differs at entry {}", mismatch.seq))?;
            for (name, value) in [
                ("recorded", &mismatch.expected),
                ("came", &mismatch.got),
                ("first difference", &mismatch.field),
            ] {
                out.line(Style::Plain, &format!("  {name}: {value}"))?;
            }
            Outcome::Differs
        }
    };
    out.flush()?;
    Ok(outcome)
}

/// `rewake verify`: checks the chain, the payloads and the fold.
pub(crate) async fn verify(places: &Places, id: Option<SessionId>) -> Result<Outcome, Failure> {
    let store = places.read().await?;
    let mut out = Out::new();
    let mut outcome = Outcome::Done;
    let mut ids = match &id {
        Some(id) => vec![id.clone()],
        None => page(&*store, None).await?,
    };
    while let Some(last) = ids.last().cloned() {
        for one in &ids {
            // Asked for first: an id that is not here has no chain that could hold.
            if store.session(one).await?.is_none() {
                return Err(crate::journal::not_there(one));
            }
            let verified = host::verify(&*store, one).await?;
            let entries = describe::count(verified.entries, "entry", "entries");
            match &verified.broken {
                None => {
                    out.line(Style::Plain, &format!("{one}: {entries} hold, head {}", verified.head.hash))?
                }
                Some(broken) => {
                    outcome = Outcome::Differs;
                    let line = format!("{one}: broken at {broken}; {entries} before it hold");
                    out.line(Style::Bad, &line)?;
                }
            }
        }
        out.flush()?;
        ids = if id.is_some() { Vec::new() } else { page(&*store, Some(last)).await? };
    }
    Ok(outcome)
}

async fn page(
    store: &impl rewake_store::Sessions,
    before: Option<SessionId>,
) -> Result<Vec<SessionId>, Failure> {
    let page = store.list_sessions(PAGE, before).await?;
    let ids = page.iter().map(|session| SessionId::parse(&session.id));
    ids.collect::<Result<_, _>>().map_err(|bad| Failure::Machine(bad.to_string()))
}

/// `rewake clear-fault`: the session may take steps here again.
pub(crate) async fn clear_fault(places: &Places, id: &SessionId) -> Result<Outcome, Failure> {
    // To be read first: a wrong folder or id makes nothing.
    let Some(fault) = places.read().await?.fault(id).await? else {
        note(&format!("{id} has no fault"));
        return Ok(Outcome::Done);
    };
    let store = places.write().await?;
    let cleared = store.set_fault(id, None).await;
    store.close().await;
    cleared?;
    for line in describe::fault(&fault) {
        note(&format!("cleared: {line}"));
    }
    note(&format!("let it try again: {}", places.resume(id)));
    Ok(Outcome::Done)
}
