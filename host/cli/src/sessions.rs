//! `rewake sessions`: what sessions there are. Loads none.

use rewake_core::ids::SessionId;
use rewake_store::Sessions as _;
use rewake_text::one_line;
use rewake_wire::SessionSummary;

use crate::args::Sessions;
use crate::data::Places;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style, note, table};

/// Sessions read at once.
const PAGE: u32 = 200;
/// Characters of a title or an agent's name in the table.
const CELL_CHARS_MAX: usize = 48;

/// Lists sessions, the newest first.
pub(crate) async fn list(places: &Places, args: &Sessions) -> Result<Outcome, Failure> {
    let Some(store) = places.read_if_there().await? else {
        note(&format!("there are no sessions in {} yet", places.data.display()));
        return Ok(Outcome::Done);
    };
    let mut found: Vec<SessionSummary> = Vec::new();
    let mut last = None;
    while (found.len() as u32) < args.limit {
        let page = store.list_sessions(PAGE.min(args.limit - found.len() as u32), last).await?;
        let Some(oldest) = page.last() else { break };
        let oldest = SessionId::parse(&oldest.id).map_err(|bad| Failure::Machine(bad.to_string()))?;
        last = Some(oldest);
        found.extend(page);
    }
    let mut out = Out::new();
    if args.json {
        for session in &found {
            out.json(session)?;
        }
    } else if found.is_empty() {
        note(&format!("there are no sessions in {} yet", places.data.display()));
    } else {
        let head = ["SESSION", "STATUS", "AGENT", "TITLE", "TURNS", "ENTRIES", "UPDATED"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(found.iter().map(row));
        for (at, line) in table(&rows).iter().enumerate() {
            out.line(if at == 0 { Style::Dim } else { Style::Plain }, line)?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn row(session: &SessionSummary) -> Vec<String> {
    let status = session.status.as_str();
    let status = match &session.fault {
        Some(fault) => format!("{status} (fault: {})", one_line(&fault.reason, CELL_CHARS_MAX)),
        None => status.to_owned(),
    };
    vec![
        session.id.clone(),
        status,
        one_line(&session.agent, CELL_CHARS_MAX),
        one_line(session.title.as_deref().unwrap_or("-"), CELL_CHARS_MAX),
        session.turns.to_string(),
        session.entries.to_string(),
        session.updated_at.clone(),
    ]
}
