//! Runs a whole session with the scripted model, looks at what came of it, replays it, and runs it again with
//! its host cut off at every place where that can happen.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rewake_bundle::Script;
use rewake_core::command::Command;
use rewake_core::entry::Entry;
use rewake_core::fact::{Fact, TurnCompleted};
use rewake_core::ids::SessionId;
use rewake_models::SCRIPTED;
use rewake_runtime::live::{Live, UnloadReason};
use rewake_runtime::{Approval, Host, NewSession, host};
use rewake_sandbox::baseline::{self, Change, Tree};
use rewake_sandbox::workspace;
use rewake_store::{CutStore, Store};
use rewake_wire::{Part, Sender};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::bed::{Bed, check_files, stays_in};
use super::cases::{Case, SessionCase, Stands, TurnEnd};
use super::journal::Journal;
use super::report::Finding;
use super::transcript::{Transcript, cut, whole_text};
use super::{Options, Suite};

/// A session with more places than this to be cut at is not cut any further.
const CUTS_MAX: i64 = 2_000;
/// How long a session may take over one message and what it asks about it, before it is taken for one that never
/// rests.
const WORKS_MAX: Duration = Duration::from_secs(300);
/// Files of a workspace that a difference names.
const FILES_TOLD_MAX: usize = 20;
/// Who says everything.
const AUTHOR: &str = "author";

/// What one run of the session came to.
struct Played {
    journal: Journal,
    transcript: Transcript,
    /// What its workspace holds.
    tree: Tree,
}

/// Runs a case; `notes` gets what is good to know.
pub(super) async fn run(
    suite: &Suite,
    options: &Options,
    case: &Case,
    session: &SessionCase,
    notes: &mut Vec<String>,
) -> Vec<Finding> {
    match whole(suite, options, case, session, notes).await {
        Ok(findings) => findings,
        Err(finding) => vec![finding],
    }
}

async fn whole(
    suite: &Suite,
    options: &Options,
    case: &Case,
    session: &SessionCase,
    notes: &mut Vec<String>,
) -> Result<Vec<Finding>, Finding> {
    let bed = Bed::make(&options.ground, &case.setting, suite)?;
    suite.stock(&bed).await?;
    let new = new_session(suite, session, &bed)?;
    let host = bed.host()?;
    let id = create(&host, &new).await?;
    if let Some(gone) = play(&host, &id, session).await? {
        return Err(Finding::of(format!("the session did not come to rest: {}", words(&gone))));
    }
    let played = read(&bed, &id).await?;
    let mut findings = check(&bed, &id, session, &played);
    if let Some(path) = &session.transcript {
        stays_in(suite.folder(), path)?;
        findings.extend(compare_transcript(path, &played.transcript, options.bless, notes));
    }
    if options.replay {
        findings.extend(replay(&host, &bed, &id).await?);
    }
    host.shut_down().await;
    drop(host);
    if options.cut && findings.is_empty() {
        findings.extend(cuts(suite, options, case, session, &played, notes).await?);
    }
    Ok(findings)
}

fn new_session(suite: &Suite, session: &SessionCase, bed: &Bed) -> Result<NewSession, Finding> {
    let script = session.script.as_deref().map(|path| script(suite, path)).transpose()?;
    let mut with = Vec::new();
    let bundle = match &session.agent {
        None => suite.folder().to_owned().into(),
        Some(agent) => {
            with.push(suite.folder().to_owned().into());
            suite.locate(agent)?
        }
    };
    for name in &session.with {
        with.push(suite.locate(name)?);
    }
    Ok(NewSession {
        bundle,
        with,
        workspace: Some(bed.given()),
        approval: Some(Approval::of_all(AUTHOR)),
        origin: "bundle test".to_owned(),
        // Whatever model the agent names: a test asks none that costs.
        model: Some(SCRIPTED.to_owned()),
        script,
        ..NewSession::default()
    })
}

/// A script, looked at before the model plays it.
fn script(suite: &Suite, path: &Path) -> Result<Vec<u8>, Finding> {
    stays_in(suite.folder(), path)?;
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Finding::machine(&format!("the script {shown}"), &error))?;
    Script::parse(&text, &shown).map_err(|error| Finding::of(error.to_string()))?;
    Ok(text.into_bytes())
}

async fn create(host: &Host, new: &NewSession) -> Result<SessionId, Finding> {
    let made = host.create(new).await;
    made.map(|made| made.id).map_err(|error| Finding::of(format!("no session can be made: {error}")))
}

/// Says everything there is to say, and answers what is asked. Where it was cut off, it is said again: with the
/// same key, so that it is heard once. Returns why the host no longer runs the session, if it does not.
async fn play(host: &Host, id: &SessionId, session: &SessionCase) -> Result<Option<UnloadReason>, Finding> {
    let (loaded, mut follower) = match host.load(id).await {
        Ok(loaded) => loaded,
        Err(error) => return Ok(Some(UnloadReason::Failed(error.to_string()))),
    };
    let mut gone = settle(host, id, session, &mut follower).await?;
    for (n, message) in session.messages.iter().enumerate() {
        if gone.is_some() {
            break;
        }
        while follower.try_recv().is_ok() {}
        let command = Command::Message { parts: vec![Part::text(message.as_str())] };
        send(host, id, command, format!("message-{n}")).await?;
        gone = settle(host, id, session, &mut follower).await?;
    }
    if gone.is_none() {
        loaded.unload("the test is over").await;
    }
    Ok(gone.filter(|gone| *gone != UnloadReason::Ended))
}

/// Waits until nothing is being done, and answers what is asked until nothing more is.
async fn settle(
    host: &Host,
    id: &SessionId,
    session: &SessionCase,
    follower: &mut broadcast::Receiver<Live>,
) -> Result<Option<UnloadReason>, Finding> {
    // Over all of it: a harness that asks again whenever it is answered rests every time, and never comes to an end.
    let settled = tokio::time::timeout(WORKS_MAX, answer_all(host, id, session, follower)).await;
    settled.unwrap_or_else(|_| {
        Err(Finding::of(format!("the session was still at work after {} s", WORKS_MAX.as_secs())))
    })
}

async fn answer_all(
    host: &Host,
    id: &SessionId,
    session: &SessionCase,
    follower: &mut broadcast::Receiver<Live>,
) -> Result<Option<UnloadReason>, Finding> {
    loop {
        if let Some(gone) = rest(follower).await {
            return Ok(Some(gone));
        }
        let journal = Journal::read(host.store().as_ref(), id).await?;
        let mut answered = false;
        for question in &journal.session.questions {
            let Some(value) = session.answers.get(question).or_else(|| session.answers.get("*")) else {
                continue;
            };
            while follower.try_recv().is_ok() {}
            let command = Command::Answer { question: question.clone(), value: value.to_string() };
            send(host, id, command, answer_key(&journal.entries, question)).await?;
            answered = true;
        }
        if !answered {
            return Ok(None);
        }
    }
}

/// The key of an answer. An id may be asked again once it is answered, and that is another question: where it was
/// asked tells them apart. A run that goes on after a cut finds the question at the same place.
fn answer_key(entries: &[Entry], question: &str) -> String {
    let asked = entries
        .iter()
        .rev()
        .find(|entry| matches!(&entry.fact, Fact::QuestionAsked(asked) if asked.question.id == question));
    format!("answer-{}-{question}", asked.map_or(0, |entry| entry.seq))
}

async fn send(host: &Host, id: &SessionId, command: Command, key: String) -> Result<(), Finding> {
    let sent = host.send(id, Sender::Operator(AUTHOR.to_owned()), command, Some(key)).await;
    sent.map(|_| ()).map_err(|error| Finding::of(format!("a command was refused: {error}")))
}

async fn rest(follower: &mut broadcast::Receiver<Live>) -> Option<UnloadReason> {
    loop {
        match follower.recv().await {
            Ok(Live::Idle) => return None,
            Ok(Live::Unloaded(gone)) => return Some(gone),
            Ok(Live::Entry(_) | Live::Activity(_) | Live::Delta { .. } | Live::DeltaReset { .. })
            | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Some(UnloadReason::Unloaded),
        }
    }
}

fn words(gone: &UnloadReason) -> String {
    match gone {
        UnloadReason::Unloaded => "its host unloaded it".to_owned(),
        UnloadReason::Ended => "it ended".to_owned(),
        UnloadReason::Fenced => "another host took it".to_owned(),
        UnloadReason::Failed(why) => why.clone(),
        UnloadReason::Faulted(fault) => {
            let mut text = format!("{}: {}", fault.reason, fault.detail);
            for (name, value) in
                [("recorded", &fault.expected), ("came", &fault.got), ("first difference", &fault.field)]
            {
                if !value.is_empty() {
                    text.push_str(&format!("; {name}: {value}"));
                }
            }
            text
        }
    }
}

async fn read(bed: &Bed, id: &SessionId) -> Result<Played, Finding> {
    let journal = Journal::read(bed.store.as_ref(), id).await?;
    let transcript = Transcript::of(id, &journal.entries);
    let tree = baseline::scan(&workspace::path(&bed.data(), id));
    let tree = tree.map_err(|error| Finding::machine("the session's workspace", &error))?;
    Ok(Played { journal, transcript, tree })
}

/// What the case says of the end, but for the transcript.
fn check(bed: &Bed, id: &SessionId, session: &SessionCase, played: &Played) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stands = played.journal.stands();
    if let Some(wanted) = session.status.filter(|wanted| *wanted != stands) {
        let (wanted, stands) = (wanted.word(), stands.word());
        findings.push(Finding::of(format!("the session is {stands}; it must be {wanted}")));
    }
    findings.extend(check_turns(session, &played.journal.entries));
    let said: Vec<String> = played.journal.entries.iter().filter_map(said).collect();
    let said = said.join("\n");
    for piece in session.says.iter().filter(|piece| !said.contains(*piece)) {
        findings.push(Finding::of(format!("the agent does not say {piece:?}; it says:\n{}", cut(&said))));
    }
    findings.extend(check_files(&workspace::path(&bed.data(), id), &session.files));
    findings
}

/// How turns ended.
fn check_turns(session: &SessionCase, entries: &[Entry]) -> Option<Finding> {
    let Some(wanted) = session.turn else { return unlooked_for(session, entries) };
    let ended = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::TurnCompleted(TurnCompleted { .. }) => Some((TurnEnd::Completed, String::new())),
        Fact::TurnFailed(body) => Some((TurnEnd::Failed, format!(": {}", body.detail))),
        Fact::TurnInterrupted(_) => Some((TurnEnd::Interrupted, String::new())),
        _ => None,
    });
    match ended {
        Some((ended, _)) if ended == wanted => None,
        Some((ended, why)) => {
            Some(Finding::of(format!("the last turn is {}; it must be {}{why}", ended.word(), wanted.word())))
        }
        None => Some(Finding::of(format!("no turn ended; one must be {}", wanted.word()))),
    }
}

/// A failure that the case has no word for. A session whose turn failed is idle, and may have said and written all
/// that is looked for: without this such a case would pass.
fn unlooked_for(session: &SessionCase, entries: &[Entry]) -> Option<Finding> {
    if session.transcript.is_some() || session.status == Some(Stands::Failed) {
        return None;
    }
    entries.iter().find_map(|entry| match &entry.fact {
        Fact::TurnFailed(body) => Some(Finding::of(format!(
            "turn {} failed, and the case does not say so with `turn` or a transcript: {}",
            entry.place.turn, body.detail
        ))),
        Fact::SessionFailed(body) => Some(Finding::of(format!(
            "the session failed, and the case does not say so with `status`: {}",
            body.detail
        ))),
        _ => None,
    })
}

fn said(entry: &Entry) -> Option<String> {
    match &entry.fact {
        Fact::AgentMessage(body) => Some(whole_text(&body.parts)),
        _ => None,
    }
}

/// Compares with the file, or writes it.
fn compare_transcript(
    path: &Path,
    transcript: &Transcript,
    bless: bool,
    notes: &mut Vec<String>,
) -> Option<Finding> {
    let came = transcript.text();
    let expected = std::fs::read_to_string(path);
    if expected.as_ref().is_ok_and(|expected| *expected == came) {
        return None;
    }
    let shown = path.display();
    if bless {
        notes.push(format!("wrote {shown}"));
        return bless_file(path, &came)
            .err()
            .map(|error| Finding::machine(&format!("writing {shown}"), &error));
    }
    Some(match expected {
        Ok(expected) => Finding::differs(format!("the transcript is not that of {shown}"), &expected, &came),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::differs(format!("there is no {shown}; `--bless` writes it, with this"), "", &came)
        }
        Err(error) => Finding::machine(&shown.to_string(), &error),
    })
}

fn bless_file(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// Verifies the chain, runs every step again from the journal, and compares.
async fn replay(host: &Host, bed: &Bed, id: &SessionId) -> Result<Option<Finding>, Finding> {
    let verified = host::verify(bed.store.as_ref(), id).await;
    let verified =
        verified.map_err(|error| Finding::of(format!("the journal cannot be verified: {error}")))?;
    if let Some(broken) = verified.broken {
        return Ok(Some(Finding::of(format!("the journal does not hold: {broken}"))));
    }
    let replayed = host.replay(id).await;
    let replayed = replayed.map_err(|error| Finding::of(format!("it cannot be replayed: {error}")))?;
    Ok(replayed.mismatch.map(|mismatch| {
        let what = format!(
            "a replay does something else at entry {}, first in {}: a harness must depend on nothing but its \
             input, its state and what its imports return",
            mismatch.seq, mismatch.field
        );
        let line = |text: &str| format!("{text}\n");
        Finding::differs(what, &line(&mismatch.expected), &line(&mismatch.got))
    }))
}

/// Runs the session again, cut off after every append in turn and loaded again.
async fn cuts(
    suite: &Suite,
    options: &Options,
    case: &Case,
    session: &SessionCase,
    uncut: &Played,
    notes: &mut Vec<String>,
) -> Result<Option<Finding>, Finding> {
    let mut unknown = 0;
    let mut places = 0;
    loop {
        let bed = Bed::make(&options.ground, &case.setting, suite)?;
        suite.stock(&bed).await?;
        let new = new_session(suite, session, &bed)?;
        let host = bed.host()?;
        let id = create(&host, &new).await?;
        if !cut_after(&bed, &id, session, places).await? {
            break;
        }
        let at = |finding: Finding| Finding {
            what: format!("cut after {places} appends: {}", finding.what),
            ..finding
        };
        if let Some(gone) = play(&host, &id, session).await? {
            return Ok(Some(at(Finding::of(format!("it did not go on: {}", words(&gone))))));
        }
        let played = read(&bed, &id).await?;
        if let Some(finding) = unlike(&uncut.transcript, &played.transcript) {
            return Ok(Some(at(finding)));
        }
        if played.transcript.unknown.is_some() {
            unknown += 1;
        } else {
            let finding = check(&bed, &id, session, &played).into_iter().next();
            if let Some(finding) = finding.or_else(|| other_files(&uncut.tree, &played.tree)) {
                return Ok(Some(at(finding)));
            }
        }
        if options.replay
            && let Some(finding) = replay(&host, &bed, &id).await?
        {
            return Ok(Some(at(finding)));
        }
        host.shut_down().await;
        places += 1;
        if places == CUTS_MAX {
            notes.push(format!("not cut after more than {CUTS_MAX} appends"));
            break;
        }
    }
    let cut = if places == 1 { "1 place".to_owned() } else { format!("{places} places") };
    notes.push(match unknown {
        0 => format!("cut at {cut}: the same each time"),
        _ => format!("cut at {cut}: the same each time, but for {unknown} with an unknown outcome"),
    });
    Ok(None)
}

/// Runs it until its host is cut off after so many appends. Whether that came before its end.
async fn cut_after(bed: &Bed, id: &SessionId, session: &SessionCase, appends: i64) -> Result<bool, Finding> {
    let store = Arc::new(CutStore::new(bed.store.clone(), appends));
    let host = bed.host_over(store.clone() as Arc<dyn Store>)?;
    let gone = play(&host, id, session).await?;
    Ok(gone.is_some() || store.is_cut())
}

/// How a run that was cut off differs from one that was not. Where a call of class `once` was in flight, its end
/// is not known and what the model makes of that is its own: the runs are the same up to that call.
fn unlike(expected: &Transcript, came: &Transcript) -> Option<Finding> {
    let (wanted, got) = match came.unknown {
        None => (expected.text(), came.text()),
        Some(at) => {
            let before = |lines: &[String]| -> String {
                lines.iter().take(at).map(|line| format!("{line}\n")).collect()
            };
            (before(&expected.lines), before(&came.lines))
        }
    };
    (wanted != got).then(|| Finding::differs("the transcript is another", &wanted, &got))
}

/// What a run that was cut off left in the workspace otherwise than one that was not.
fn other_files(wanted: &Tree, came: &Tree) -> Option<Finding> {
    let changes = baseline::changes(wanted, came);
    let lines = changes.iter().take(FILES_TOLD_MAX).map(|(path, change)| match change {
        Change::Added => format!("+ {path}"),
        Change::Changed => format!("~ {path}"),
        Change::Removed => format!("- {path}"),
    });
    let what = "the workspace is another: it has more (+), other (~) or fewer (-) files".to_owned();
    (!changes.is_empty()).then(|| Finding { what, diff: lines.collect() })
}

#[cfg(test)]
mod tests;
