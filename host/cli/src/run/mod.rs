//! `run`, `answer`, `promote` and `stop`: puts a command into a session's inbox, loads the session, shows what
//! happens until nothing is left to do, and unloads it in good order.

mod follow;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use rewake_bundle::{Script, TEXT_BYTES_MAX};
use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::ids::{Head, SessionId};
use rewake_core::money::Usd;
use rewake_core::session::Ended;
use rewake_runtime::{Approval, HostError, Made, NewSession};
use rewake_store::{Sessions as _, Store};
use rewake_wire::{Part, Sender};

use self::follow::{Follow, Until};
use crate::args::{About, Answer, Run, Stop, Target};
use crate::data::{Opened, Places};
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::grants;
use crate::journal::{Journal, Standing, corrupt, faulted};
use crate::out::{self, Out, Style, note};
use crate::outcome::Watch;
use crate::sending::{deliver, operator, read_message};
use crate::stream::{self, going_on};
use crate::talk::{self, Early};

/// A command, and the key under which it may be sent again.
struct Sent {
    command: Command,
    key: Option<String>,
}

/// `rewake run`.
pub(crate) async fn run(places: &Places, args: Run, is_unfolded: bool) -> Result<Outcome, Failure> {
    let (target, message) = args.target()?;
    let command = match message {
        Some(message) => Some(Command::Message { parts: vec![Part::text(read_message(message)?)] }),
        None => None,
    };
    // Before a session is made for it.
    if let Some(command) = &command {
        command.check().map_err(HostError::from)?;
    }
    let talks = command.is_none() && !args.json && talk::is_possible();
    let mut early = talks.then(Early::take).transpose()?;
    match target {
        Target::There(id) => {
            if let Some(early) = early {
                return talk_on(places, &id, is_unfolded, (args.grant_asked, args.max_usd), early).await;
            }
            let sent = command.map(|command| Sent { command, key: args.key });
            go_on(places, &id, sent, args.json, (args.grant_asked, args.max_usd), Until::Idle).await
        }
        Target::New(bundle) => {
            let mut new = NewSession {
                bundle,
                with: args.with,
                workspace: args.workspace,
                approval: args.grant_asked.then(|| Approval::of_all(operator())),
                origin: operator(),
                labels: Default::default(),
                model: args.model,
                max_usd: args.max_usd,
                max_steps: args.max_steps,
                script: args.script.as_deref().map(read_script).transpose()?,
            };
            let opened = places.host(places.write().await?)?;
            let result = async {
                let confirm = async |question: &str| match &mut early {
                    Some(early) => early.confirm(question).await,
                    None => out::confirm(question),
                };
                grants::settle(places, &opened, &mut new, confirm).await?;
                if let Some(early) = early {
                    let made = opened.host.create(&new).await?;
                    introduce(places, &made, &new);
                    return talk::talk(places, &opened, &made.id, true, is_unfolded, early).await;
                }
                start(places, &opened, &new, command, args.json).await
            }
            .await;
            opened.close().await;
            result
        }
    }
}

/// `rewake answer`.
pub(crate) async fn answer(places: &Places, args: Answer) -> Result<Outcome, Failure> {
    let command = Command::Answer { value: args.json_value(), question: args.question };
    go_on(places, &args.id, Some(Sent { command, key: args.key }), args.json, (false, None), Until::Idle)
        .await
}

/// `rewake promote`: the message is followed, not the command.
pub(crate) async fn promote(places: &Places, about: About, json: bool) -> Result<Outcome, Failure> {
    let command = Command::Promote { target: about.n, turn: None };
    go_on(places, &about.id, Some(Sent { command, key: None }), json, (false, None), Until::Idle).await
}

/// `rewake stop`.
pub(crate) async fn stop(places: &Places, args: Stop) -> Result<Outcome, Failure> {
    let command = Command::Stop { reason: args.reason };
    go_on(places, &args.id, Some(Sent { command, key: None }), args.json, (false, None), Until::Stopped).await
}

async fn start(
    places: &Places,
    opened: &Opened,
    new: &NewSession,
    command: Option<Command>,
    json: bool,
) -> Result<Outcome, Failure> {
    let made = opened.host.create(new).await?;
    introduce(places, &made, new);
    let store: Arc<dyn Store> = opened.host.store().clone();
    let mut journal = Journal::start(store, made.id.clone());
    let Some(command) = command else {
        let mut out = Out::new();
        if json {
            for entry in journal.page().await? {
                let event = rewake_core::view::event(&made.id, &entry);
                out.json(&event)?;
            }
        } else {
            out.line(Style::Plain, made.id.as_str())?;
        }
        out.flush()?;
        note(&format!("tell it something: {} MESSAGE", places.resume(&made.id)));
        return Ok(Outcome::Done);
    };
    let row = deliver(&opened.host, &made.id, command, None).await?;
    let follow = Follow {
        places,
        opened,
        id: made.id,
        journal,
        transcript: stream::transcript(),
        watch: Watch::new(Some(row), 0),
        out: Out::new(),
        json,
        until: Until::Idle,
        welcome: None,
    };
    follow.run().await
}

async fn go_on(
    places: &Places,
    id: &SessionId,
    sent: Option<Sent>,
    json: bool,
    (grant_asked, max_usd): (bool, Option<Usd>),
    until: Until,
) -> Result<Outcome, Failure> {
    let standing = look(places, id).await?;
    let session = &standing.session;
    // One with a key may have been taken already: then it is that one.
    if let Some(Sent { command: Command::Answer { question, .. }, key: None }) = &sent
        && !session.questions.contains(question)
    {
        let show = places.hint(&format!("show {id}"));
        return Err(Failure::Usage(format!("{id} has no open question {question:?}; `{show}` lists them")));
    }
    let opened = places.host(places.write().await?)?;
    let result = async {
        if until == Until::Idle {
            grants::settle_again(places, &opened, id, grant_asked, async |question| out::confirm(question))
                .await?;
            set_budget(&opened, id, max_usd).await?;
        }
        let (row, is_keyed) = match sent {
            Some(Sent { command: Command::Promote { target, .. }, .. }) => {
                let turn = session.turn.as_ref().map(|turn| turn.number);
                deliver(&opened.host, id, Command::Promote { target, turn }, None).await?;
                (Some(target), false)
            }
            Some(Sent { command, key }) => {
                let is_keyed = key.is_some();
                (Some(deliver(&opened.host, id, command, key).await?), is_keyed)
            }
            None => (None, false),
        };
        let mut watch = Watch::new(row, session.turn.as_ref().map_or(0, |turn| turn.number));
        if is_keyed {
            see_before(&opened, id, session.head, &mut watch).await?;
        }
        let follow = Follow {
            places,
            opened: &opened,
            id: id.clone(),
            journal: Journal::at(opened.host.store().clone(), id.clone(), session.head),
            transcript: stream::resuming(session),
            watch,
            out: Out::new(),
            json,
            until,
            welcome: (until == Until::Idle).then(|| going_on(id, session)),
        };
        follow.run().await
    }
    .await;
    opened.close().await;
    result
}

/// Sees what came before an entry of a command that may have been sent, and taken, by then.
async fn see_before(opened: &Opened, id: &SessionId, head: Head, watch: &mut Watch) -> Result<(), Failure> {
    let mut journal = Journal::start(opened.host.store().clone(), id.clone());
    while journal.seq() < head.seq {
        let entries = journal.page().await?;
        if entries.is_empty() {
            break;
        }
        entries.iter().filter(|entry| entry.seq <= head.seq).for_each(|entry| watch.see(entry));
    }
    Ok(())
}

/// Changes what a session's models may cost, if that was asked for.
async fn set_budget(opened: &Opened, id: &SessionId, max_usd: Option<Usd>) -> Result<(), Failure> {
    if max_usd.is_some() {
        let (loaded, _) = opened.host.load(id).await?;
        loaded.set_budget(max_usd, Sender::Operator(operator())).await.map_err(HostError::from)?;
    }
    Ok(())
}

/// Talks to a session that is there.
async fn talk_on(
    places: &Places,
    id: &SessionId,
    is_unfolded: bool,
    (grant_asked, max_usd): (bool, Option<Usd>),
    mut early: Early,
) -> Result<Outcome, Failure> {
    look(places, id).await?;
    let opened = places.host(places.write().await?)?;
    let result = async {
        let confirm = async |question: &str| early.confirm(question).await;
        grants::settle_again(places, &opened, id, grant_asked, confirm).await?;
        set_budget(&opened, id, max_usd).await?;
        talk::talk(places, &opened, id, false, is_unfolded, early).await
    }
    .await;
    opened.close().await;
    result
}

/// Looks at a session before anything is locked or written, so that a wrong id leaves no trace.
async fn look(places: &Places, id: &SessionId) -> Result<Standing, Failure> {
    let reading = places.read_to_write().await?;
    if let Some(fault) = reading.fault(id).await? {
        return Err(faulted(places, id, fault));
    }
    let mut standing = Standing::read(reading, id).await?;
    if let Some(broken) = standing.corrupt.take() {
        keep_fault(places, id).await;
        return Err(corrupt(id, broken));
    }
    let session = &standing.session;
    if let Some(ended) = &session.ended {
        if session.has_farewells() {
            bid_farewell(places, id).await?;
        }
        let status = match ended {
            Ended::Stopped => "stopped",
            Ended::Failed => "failed",
        };
        return Err(HostError::from(Refusal::Ended { status }).into());
    }
    Ok(standing)
}

/// Has the host find out that a journal cannot be replayed, and keep that, so that lists show it. Where nothing can
/// be written, it is not kept.
async fn keep_fault(places: &Places, id: &SessionId) {
    let Ok(store) = places.write().await else { return };
    let Ok(opened) = places.host(store) else { return };
    // What it says has been said.
    let _ = opened.host.load(id).await;
    opened.close().await;
}

/// Has the hooks of a session's end hear of it whose host died before they answered.
async fn bid_farewell(places: &Places, id: &SessionId) -> Result<(), Failure> {
    let opened = places.host(places.write().await?)?;
    let loaded = opened.host.load(id).await;
    let result = match loaded {
        Ok((loaded, _)) => {
            loaded.unloaded().await;
            Ok(())
        }
        Err(error) => Err(error.into()),
    };
    opened.close().await;
    result
}

/// What a new session is and may do.
fn introduce(places: &Places, made: &Made, new: &NewSession) {
    note(&format!("session {}; resume it with `{}`", made.id, places.resume(&made.id)));
    for line in describe::grants(&made.created) {
        note(&format!("grant: {line}"));
    }
    if let Some(max) = made.created.agent.max_usd {
        note(&format!("its models may cost {max} together"));
    }
    if let Some(from) = &new.workspace {
        let copied = made.copied;
        let mut line = format!(
            "workspace: {} copied from {} ({}); the folder itself stays as it is",
            describe::count(copied.files, "file or folder", "files and folders"),
            from.display(),
            describe::bytes(copied.bytes)
        );
        if copied.left_out > 0 {
            line.push_str(&format!(
                "; {} left out: links that lead out, sockets and the like",
                copied.left_out
            ));
        }
        note(&line);
    }
}

/// A script, looked at before a session is made for it.
fn read_script(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display().to_string();
    let unread = |why: String| Failure::Usage(format!("the script {shown} cannot be read: {why}"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| unread(error.to_string()))?;
    file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unread(error.to_string()))?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(unread(format!("it is larger than {}", describe::bytes(TEXT_BYTES_MAX))));
    }
    let text = String::from_utf8(bytes).map_err(|_| unread("it is no UTF-8 text".into()))?;
    Script::parse(&text, &shown).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(text.into_bytes())
}
