//! `run`, `answer` and `stop`: puts a command into a session's inbox, takes the session up, shows what
//! happens until nothing is left to do, and lets go of it in good order.

mod follow;
pub(crate) mod prompt;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_core::limits::MESSAGE_BYTES_MAX;
use rewake_core::session::Ended;
use rewake_runtime::bundle::TEXT_BYTES_MAX;
use rewake_runtime::providers::script::Script;
use rewake_runtime::{Approval, HostError, Made, NewSession};
use rewake_store::{Sessions as _, Store};
use rewake_wire::{Fault, Part, Sender};

use self::follow::{Follow, Until};
use crate::args::{Answer, Run, Stop, Target};
use crate::data::{Opened, Places};
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::grants;
use crate::journal::{Journal, Standing};
use crate::out::{Out, Style, note};
use crate::outcome::Watch;
use crate::stream::{Renderer, going_on};
use crate::talk;
use crate::text::{json_line, one_line};

/// Characters of the operator's name that are kept.
const NAME_CHARS_MAX: usize = 64;

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
    match target {
        Target::There(id) if talks => talk_on(places, &id, is_unfolded).await,
        Target::There(id) => go_on(places, &id, command, args.json, Until::Idle).await,
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
                grants::settle(places, &opened, &mut new).await?;
                if talks {
                    let made = opened.host.create(&new).await?;
                    introduce(places, &made, &new);
                    return talk::talk(places, &opened, &made.id, true, is_unfolded).await;
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
    go_on(places, &args.id, Some(command), args.json, Until::Idle).await
}

/// `rewake stop`.
pub(crate) async fn stop(places: &Places, args: Stop) -> Result<Outcome, Failure> {
    let command = Command::Stop { reason: args.reason };
    go_on(places, &args.id, Some(command), args.json, Until::Stopped).await
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
                out.raw(&json_line(&event).map_err(|error| Failure::io("writing JSON", error))?)?;
            }
        } else {
            out.line(Style::Plain, made.id.as_str())?;
        }
        out.flush()?;
        note(&format!("tell it something: {} MESSAGE", places.resume(&made.id)));
        return Ok(Outcome::Done);
    };
    let row = opened.host.send(&made.id, sender(), command, None).await?;
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
    command: Option<Command>,
    json: bool,
    until: Until,
) -> Result<Outcome, Failure> {
    let standing = look(places, id).await?;
    let session = &standing.session;
    if let Some(Command::Answer { question, .. }) = &command
        && !session.questions.contains(question)
    {
        let show = places.hint(&format!("show {id}"));
        return Err(Failure::Usage(format!("{id} has no open question {question:?}; `{show}` lists them")));
    }
    let opened = places.host(places.write().await?)?;
    let result = async {
        let row = match command {
            Some(command) => Some(opened.host.send(id, sender(), command, None).await?),
            None => None,
        };
        let follow = Follow {
            places,
            opened: &opened,
            id: id.clone(),
            journal: Journal::at(opened.host.store().clone(), id.clone(), session.head),
            renderer: Renderer::resuming(session),
            watch: Watch::new(row, session.turn.as_ref().map_or(0, |turn| turn.number)),
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

/// Talks to a session that is there.
async fn talk_on(places: &Places, id: &SessionId, is_unfolded: bool) -> Result<Outcome, Failure> {
    look(places, id).await?;
    let opened = places.host(places.write().await?)?;
    let result = talk::talk(places, &opened, id, false, is_unfolded).await;
    opened.close().await;
    result
}

/// Looks at a session before anything is locked or written, so that a wrong id leaves no trace.
async fn look(places: &Places, id: &SessionId) -> Result<Standing, Failure> {
    let reading = places.read().await?;
    if let Some(fault) = reading.fault(id).await? {
        return Err(faulted(places, id, fault));
    }
    let standing = Standing::whole(reading, id).await?;
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

/// Has the hooks of a session's end hear of it whose host died before they answered.
async fn bid_farewell(places: &Places, id: &SessionId) -> Result<(), Failure> {
    let opened = places.host(places.write().await?)?;
    let loaded = opened.host.load(id).await;
    let result = match loaded {
        Ok((loaded, _)) => {
            loaded.gone().await;
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

fn read_message(message: String) -> Result<String, Failure> {
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
