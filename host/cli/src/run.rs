//! `run`, `answer`, `promote` and `stop`: puts a command into a session's inbox, takes the session up, shows what
//! happens until nothing is left to do, and lets go of it in good order.

mod follow;
pub(crate) mod prompt;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rewake_bundle::{Script, TEXT_BYTES_MAX};
use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::ids::{Head, SessionId};
use rewake_core::limits::MESSAGE_BYTES_MAX;
use rewake_core::session::Ended;
use rewake_runtime::{Approval, Host, HostError, Made, NewSession};
use rewake_store::{Sessions as _, Store, StoreError};
use rewake_text::one_line;
use rewake_wire::{Fault, Part, Sender};

use self::follow::{Follow, Until};
use crate::args::{About, Answer, Run, Stop, Target};
use crate::data::{Opened, Places};
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::grants;
use crate::journal::{Journal, Standing, corrupt};
use crate::out::{self, Out, Style, note};
use crate::outcome::Watch;
use crate::stream::{Renderer, going_on};
use crate::talk::{self, Early};

/// Characters of the operator's name that are kept.
const NAME_CHARS_MAX: usize = 64;

/// How often a command is sent again that the disk failed under.
const SENDS_MAX: u32 = 3;
/// How long after the first time that is; then longer each time.
const SEND_PAUSE: Duration = Duration::from_millis(50);

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
                return talk_on(places, &id, is_unfolded, early).await;
            }
            let sent = command.map(|command| Sent { command, key: args.key });
            go_on(places, &id, sent, args.json, Until::Idle).await
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
    go_on(places, &args.id, Some(Sent { command, key: args.key }), args.json, Until::Idle).await
}

/// `rewake promote`: the message is followed, not the command.
pub(crate) async fn promote(places: &Places, about: About, json: bool) -> Result<Outcome, Failure> {
    let command = Command::Promote { target: about.n, turn: None };
    go_on(places, &about.id, Some(Sent { command, key: None }), json, Until::Idle).await
}

/// `rewake stop`.
pub(crate) async fn stop(places: &Places, args: Stop) -> Result<Outcome, Failure> {
    let command = Command::Stop { reason: args.reason };
    go_on(places, &args.id, Some(Sent { command, key: None }), args.json, Until::Stopped).await
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
        renderer: Renderer::default(),
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
            renderer: Renderer::resuming(session),
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

/// Talks to a session that is there.
async fn talk_on(
    places: &Places,
    id: &SessionId,
    is_unfolded: bool,
    early: Early,
) -> Result<Outcome, Failure> {
    look(places, id).await?;
    let opened = places.host(places.write().await?)?;
    let result = talk::talk(places, &opened, id, false, is_unfolded, early).await;
    opened.close().await;
    result
}

/// Looks at a session before anything is locked or written, so that a wrong id leaves no trace.
async fn look(places: &Places, id: &SessionId) -> Result<Standing, Failure> {
    let reading = places.read().await?;
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

/// Has the host find out that a journal cannot be read back, and keep that, so that lists show it. Where nothing can
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

/// A session that takes no step: its report, and the way out.
pub(crate) fn faulted(places: &Places, id: &SessionId, fault: Fault) -> Failure {
    for line in describe::fault(&fault) {
        note(&line);
    }
    if fault.reason == "corrupt" {
        note(&format!("what holds of it is told by `rewake verify {id}`"));
    }
    note(&format!("once its cause is gone, let it try again: {}", places.hint(&format!("clear-fault {id}"))));
    HostError::Faulted { session: id.clone(), fault: Box::new(fault) }.into()
}

/// What a new session is and may do.
fn introduce(places: &Places, made: &Made, new: &NewSession) {
    note(&format!("session {}; `{}` goes on with it", made.id, places.resume(&made.id)));
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

pub(crate) fn read_message(message: String) -> Result<String, Failure> {
    if message != "-" {
        return Ok(message);
    }
    let mut bytes = Vec::new();
    // One more than fits, so that the check of the limit sees it.
    let bytes_max = MESSAGE_BYTES_MAX as u64 + 1;
    std::io::stdin()
        .lock()
        .take(bytes_max)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io("reading the message from standard input", error))?;
    let cut = bytes.len() as u64 == bytes_max;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // Cut in the middle of a character: too long is what is wrong with it.
        Err(error) if cut => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Err(_) => Err(Failure::Usage("the message on standard input is no UTF-8 text".into())),
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

/// Puts a command into a session's inbox, as [`insist`] does.
pub(crate) async fn deliver(
    host: &Host,
    id: &SessionId,
    command: Command,
    key: Option<String>,
) -> Result<u64, Failure> {
    insist(id, &command, key, async |key| host.send(id, sender(), command.clone(), Some(key)).await).await
}

/// Sends a command. One that the disk failed under is sent again with the same key: it is there once, whether it had
/// been kept or not.
pub(crate) async fn insist(
    id: &SessionId,
    command: &Command,
    key: Option<String>,
    send: impl AsyncFn(String) -> Result<u64, HostError>,
) -> Result<u64, Failure> {
    let key = key.unwrap_or_else(own_key);
    let mut pause = SEND_PAUSE;
    let mut left = SENDS_MAX;
    loop {
        match send(key.clone()).await {
            Err(HostError::Store(StoreError::Unknown(why))) if left == 0 => {
                let again = once_more(id, command, &key);
                return Err(Failure::Machine(format!(
                    "it is not known whether {id} has what you sent: {why}. Once the disk is well, {again}"
                )));
            }
            Err(HostError::Store(StoreError::Unknown(_))) => tokio::time::sleep(pause).await,
            other => return Ok(other?),
        }
        left -= 1;
        pause *= 4;
    }
}

/// What to do about a command of which it is not known whether it was kept.
fn once_more(id: &SessionId, command: &Command, key: &str) -> String {
    const ONCE: &str = "it is taken once, whether it had been kept or not";
    match command {
        Command::Message { .. } => format!("send it again with `--session {id} --key {key}`: {ONCE}"),
        Command::Answer { .. } => format!("answer again with `--key {key}`: {ONCE}"),
        Command::Edit { .. } => {
            format!("edit it again: what it says last is what is told; `rewake show {id}` lists it")
        }
        Command::Interrupt { .. }
        | Command::Stop { .. }
        | Command::Cancel { .. }
        | Command::Promote { .. } => {
            format!("`rewake show {id}` tells whether it was kept; if not, do it again")
        }
    }
}

/// A key that nobody else uses.
fn own_key() -> String {
    // Keyed at random, by the system.
    let random = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
    format!("rewake-{:016x}{:016x}", random(), random())
}

/// Who sends commands.
pub(crate) fn sender() -> Sender {
    Sender::Operator(operator())
}

/// The name that commands are sent under.
pub(crate) fn operator() -> String {
    let name = std::env::var("USER").unwrap_or_default();
    let name = one_line(&name, NAME_CHARS_MAX);
    if name.is_empty() { "operator".to_owned() } else { name }
}
