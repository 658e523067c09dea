//! The events of an answer as they arrive, each wait and each amount of bytes bounded. Knows no protocol but for an
//! answer that comes whole.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::spec::Protocol;
use super::sse::{Parser, TooLong};
use super::stream;
use rewake_egress::Head;

/// Bytes of one answer's stream.
const STREAM_BYTES_MAX: usize = 64 << 20;
/// Bytes of an answer that comes whole.
const WHOLE_BYTES_MAX: usize = 16 << 20;
/// Bytes of an error's body that are read.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// How long a provider may send nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Before the first byte of the answer.
    pub(super) first: Duration,
    /// Between two pieces of it. Some say nothing while they think.
    pub(super) between: Duration,
}

impl Patience {
    /// The operator's, or long enough for models that think.
    pub(super) fn of(idle_timeout: Option<Duration>) -> Patience {
        Patience {
            first: idle_timeout.unwrap_or(Duration::from_secs(180)),
            between: idle_timeout.unwrap_or(Duration::from_secs(300)),
        }
    }
}

/// Why no more events come.
#[derive(Debug)]
pub(super) enum Stop {
    /// Nothing came for so long.
    Silent(Duration),
    /// The connection broke.
    Broken(String),
    /// All of it has more bytes than this.
    TooMuch { bytes_max: usize },
    /// One event has.
    EventTooLong { bytes_max: usize },
    /// It is neither a stream of events nor an answer of the protocol.
    Foreign,
    /// It ended within an answer that comes whole.
    CutShort,
}

impl From<TooLong> for Stop {
    fn from(TooLong { bytes_max }: TooLong) -> Stop {
        Stop::EventTooLong { bytes_max }
    }
}

/// What has arrived and is not an event yet.
enum Pending {
    /// Blanks at most.
    Nothing,
    Events(Parser),
    /// An answer that comes whole.
    Whole(Vec<u8>),
}

/// The events of one answer.
pub(super) struct Events {
    head: Head,
    protocol: Protocol,
    patience: Patience,
    /// When the next byte is waited for no longer, and how long that is.
    until: (Instant, Duration),
    bytes: usize,
    pending: Pending,
    is_over: bool,
}

impl Events {
    /// Of a response; its first byte is waited for until then.
    pub(super) fn of(head: Head, protocol: Protocol, patience: Patience, until: Instant) -> Events {
        let until = (until, patience.first);
        Events { head, protocol, patience, until, bytes: 0, pending: Pending::Nothing, is_over: false }
    }

    /// The data of the next events; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<String>>, Stop> {
        if self.is_over {
            return Ok(None);
        }
        let (until, waited) = self.until;
        let chunk = timeout_at(until, self.head.chunk()).await.map_err(|_| Stop::Silent(waited))?;
        let Some(chunk) = chunk.map_err(Stop::Broken)? else {
            self.is_over = true;
            return self.end().map(Some);
        };
        self.until = (Instant::now() + self.patience.between, self.patience.between);
        self.bytes += chunk.len();
        self.push(&chunk).map(Some)
    }

    fn push(&mut self, chunk: &[u8]) -> Result<Vec<String>, Stop> {
        if let Pending::Nothing = self.pending {
            self.pending = match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => Pending::Nothing,
                Some(b'{') => Pending::Whole(Vec::new()),
                Some(_) => Pending::Events(Parser::default()),
            };
        }
        let bytes_max = match self.pending {
            Pending::Whole(_) => WHOLE_BYTES_MAX,
            Pending::Nothing | Pending::Events(_) => STREAM_BYTES_MAX,
        };
        if self.bytes > bytes_max {
            return Err(Stop::TooMuch { bytes_max });
        }
        let mut events = Vec::new();
        match &mut self.pending {
            Pending::Nothing => {}
            Pending::Events(parser) => parser.push(chunk, &mut events)?,
            Pending::Whole(text) => text.extend_from_slice(chunk),
        }
        Ok(events)
    }

    fn end(&mut self) -> Result<Vec<String>, Stop> {
        let mut events = Vec::new();
        match &mut self.pending {
            Pending::Nothing => {}
            Pending::Events(parser) => {
                parser.finish(&mut events)?;
                if parser.is_foreign() {
                    return Err(Stop::Foreign);
                }
            }
            Pending::Whole(text) => {
                let answer: Value = serde_json::from_slice(text).map_err(|error| match error.is_eof() {
                    true => Stop::CutShort,
                    false => Stop::Foreign,
                })?;
                let whole = stream::events_of(self.protocol, answer).ok_or(Stop::Foreign)?;
                events.extend(whole.iter().map(Value::to_string));
            }
        }
        Ok(events)
    }
}

/// The beginning of an error's body, or what of it comes in time.
pub(super) async fn error_body(head: &mut Head, patience: Patience) -> String {
    let mut body = Vec::new();
    while body.len() < ERROR_BYTES_MAX {
        let next = timeout_at(Instant::now() + patience.between, head.chunk()).await;
        let Ok(Ok(Some(chunk))) = next else { break };
        body.extend_from_slice(&chunk);
    }
    body.truncate(ERROR_BYTES_MAX);
    String::from_utf8_lossy(&body).into_owned()
}
