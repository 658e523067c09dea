//! `replay`, `verify` and `clear-fault`: whether a journal holds, whether its steps do again what they did,
//! and letting a session try again after somebody has looked.

use rewake_core::ids::SessionId;
use rewake_runtime::host;
use rewake_store::{Sessions as _, SqliteStore, StoreError};
use rewake_text::one_line;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style, note};

/// Sessions read at once.
const PAGE: u32 = 200;
/// Characters of a fault of the file that are shown.
const FAULT_CHARS_MAX: usize = 200;

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
    let mut holds = true;
    let mut tell = |(is_good, line): (bool, String)| -> Result<(), Failure> {
        holds &= is_good;
        out.line(if is_good { Style::Plain } else { Style::Bad }, &line)?;
        out.flush()
    };
    match id {
        Some(id) => tell(one(&store, &id).await?)?,
        None => {
            let mut last = None;
            loop {
                let ids = match page(&*store, last).await {
                    Ok(ids) => ids,
                    // What of the file is damaged is told below; the sessions beyond cannot be found.
                    Err(error @ (StoreError::Damaged { .. } | StoreError::Corrupt { .. })) => {
                        tell((false, format!("the list of sessions: {error}")))?;
                        break;
                    }
                    Err(error) => return Err(error.into()),
                };
                for id in &ids {
                    match id {
                        Ok(id) => tell(one(&store, id).await?)?,
                        Err(bad) => tell((false, format!("a session: {bad}")))?,
                    }
                }
                // After one that has no id, the list cannot be asked for what follows.
                let Some(Ok(oldest)) = ids.into_iter().rev().find(Result::is_ok) else { break };
                last = Some(oldest);
            }
            let faults = store.check_file().await?;
            if faults.is_empty() {
                tell((true, "the store's file is as SQLite wrote it".into()))?;
            }
            for fault in faults {
                tell((false, format!("the store's file is damaged: {}", one_line(&fault, FAULT_CHARS_MAX))))?;
            }
        }
    }
    Ok(if holds { Outcome::Done } else { Outcome::Differs })
}

/// Whether a session's journal holds, and what is to be said of it. One that is damaged keeps nobody from looking at
/// the others.
async fn one(store: &SqliteStore, id: &SessionId) -> Result<(bool, String), Failure> {
    let looked = async {
        // Asked for first: an id that is not here has no chain that could hold.
        match store.session(id).await? {
            Some(_) => host::verify(store, id).await.map(Some),
            None => Ok(None),
        }
    };
    let verified = match looked.await {
        Ok(Some(verified)) => verified,
        Ok(None) => return Err(crate::journal::not_there(id)),
        Err(error @ (StoreError::Damaged { .. } | StoreError::Corrupt { .. })) => {
            return Ok((false, format!("{id}: {error}")));
        }
        Err(error) => return Err(error.into()),
    };
    let entries = describe::count(verified.entries, "entry", "entries");
    Ok(match (&verified.broken, &verified.state) {
        (Some(broken), _) => (false, format!("{id}: broken at {broken}; {entries} before it hold")),
        (None, Some(why)) => (false, format!("{id}: {entries} hold, but it cannot go on: {why}")),
        (None, None) => (true, format!("{id}: {entries} hold, head {}", verified.head.hash)),
    })
}

async fn page(
    store: &impl rewake_store::Sessions,
    before: Option<SessionId>,
) -> Result<Vec<Result<SessionId, String>>, StoreError> {
    let page = store.list_sessions(PAGE, before).await?;
    let id = |id: &str| SessionId::parse(id).map_err(|bad| one_line(&bad.to_string(), FAULT_CHARS_MAX));
    Ok(page.iter().map(|session| id(&session.id)).collect())
}

/// `rewake clear-fault`: the session may take steps here again.
pub(crate) async fn clear_fault(places: &Places, id: &SessionId) -> Result<Outcome, Failure> {
    // To be read first: a wrong folder or id makes nothing.
    let Some(fault) = places.read_to_write().await?.fault(id).await? else {
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
