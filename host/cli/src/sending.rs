//! What is sent to sessions, by whom, and how: a command that the disk failed under is sent again.

use std::io::Read as _;
use std::time::Duration;

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_core::limits::MESSAGE_BYTES_MAX;
use rewake_runtime::{Host, HostError};
use rewake_store::StoreError;
use rewake_text::one_line;
use rewake_wire::Sender;

use crate::exit::Failure;

/// Characters of the operator's name that are kept.
const NAME_CHARS_MAX: usize = 64;

/// How often a command is sent again that the disk failed under.
pub(crate) const SENDS_MAX: u32 = 3;
/// How long after the first time that is; then longer each time.
pub(crate) const SEND_PAUSE: Duration = Duration::from_millis(50);

/// The text of a message: `-` reads standard input.
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
            format!("edit it again: the last edit is what is delivered; `rewake show {id}` lists it")
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
