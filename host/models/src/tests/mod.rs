//! Whole attempts, against servers in this process that speak the providers' protocols from canned frames, and
//! keep what they were asked.

mod anthropic;
mod cut;
mod endless;
mod faults;
mod keys;
mod openai;
mod whole;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rewake_bindings::model::{Content, Message, Request, Role};
use rewake_bindings::types::Part;
use rewake_core::fact::{ModelContent, ModelFinish, ModelOutcome};
use rewake_wire::Usage;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::ask::Ask;
use super::incoming::Patience;
use super::shown::tests::Pieces;
use super::{Attempt, Bill, Delta, Deltas, Way, spec};
use rewake_egress::{Egress, HttpLimits};
use rewake_policy::config::Rules;

/// The key that tests send and look for.
const KEY: &str = "sk-canary-7f3a9b";

/// What a server does, one thing after the other, before it closes the connection.
#[derive(Clone, Debug)]
enum Does {
    Says(String),
    Sends(Vec<u8>),
    Waits(Duration),
}

/// A server on this machine that does the same whenever it is asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(script: Vec<Does>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kept.clone(), script.clone()));
            }
        });
        Server { address, asked }
    }

    /// One that streams these frames, each in a piece of its own.
    async fn streaming(frames: &[String]) -> Server {
        let frames = frames.iter().map(|frame| Does::Says(frame.clone()));
        Server::start(std::iter::once(Does::Says(stream_head())).chain(frames).collect()).await
    }

    /// One that streams a byte more whenever it is asked, from none of them on, and goes away.
    async fn cutting(answer: Vec<u8>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        tokio::spawn(async move {
            for count in 0..=answer.len() {
                let Ok((stream, _)) = listener.accept().await else { return };
                let script = vec![Does::Says(stream_head()), Does::Sends(answer[..count].to_vec())];
                serve(stream, kept.clone(), script).await;
            }
        });
        Server { address, asked }
    }

    /// One that answers with a status.
    async fn answering(status: &str, headers: &str, body: &str) -> Server {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}");
        Server::start(vec![Does::Says(text)]).await
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The body of the only request.
    fn body(&self) -> Value {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        serde_json::from_str(asked[0].split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

fn stream_head() -> String {
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".into()
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<String>>>, script: Vec<Does>) {
    let Some(text) = request(&mut stream).await else { return };
    asked.lock().unwrap().push(text);
    for does in script {
        let bytes = match does {
            Does::Says(text) => text.into_bytes(),
            Does::Sends(bytes) => bytes,
            Does::Waits(time) => {
                tokio::time::sleep(time).await;
                continue;
            }
        };
        // A client that has seen enough goes away.
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
        stream.flush().await.unwrap();
    }
    let _ = stream.shutdown().await;
}

/// A model at a server, as an operator describes it, with its key in a file.
struct Bench {
    folder: TempDir,
    lines: String,
    egress: Egress,
    /// Instead of what the rules say.
    patience: Option<Patience>,
}

impl Bench {
    fn new(provider: &str, base_url: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("key"), KEY).unwrap();
        let lines = format!(
            "provider = {provider:?}\nmodel = \"m-1\"\nbase_url = {base_url:?}\nkey_file = \"key\"\ncontext = 1000\n"
        );
        let egress = Egress::new(HttpLimits::default(), &[]).unwrap();
        Bench { folder, lines, egress, patience: None }
    }

    fn at(provider: &str, server: &Server) -> Bench {
        Bench::new(provider, &format!("http://{}/v1", server.address))
    }

    fn with(mut self, line: &str) -> Bench {
        self.lines = format!("{}{line}\n", self.lines);
        self
    }

    /// A provider that says nothing for so long has said all.
    fn impatient(mut self, ms: u64) -> Bench {
        let time = Duration::from_millis(ms);
        self.patience = Some(Patience { first: time, between: time });
        self
    }

    /// Asks, and returns what came of it and what was shown.
    async fn ask(&self, request: &Request) -> (Attempt, Vec<Delta>) {
        let text = format!("[models.m]\n{}", self.lines);
        let rules = Rules::parse(&text, &self.folder.path().join("rewake.toml"));
        let resolved =
            spec::resolve(&rules.unwrap_or_else(|error| panic!("{error}")), "m", &|_| false).unwrap();
        let Way::Provider(spec) = &resolved.way else { panic!("it is scripted") };
        let pieces = Pieces::default();
        let ask = Ask {
            egress: &self.egress,
            spec,
            request,
            images: &super::Images::new(),
            output_tokens_max: resolved.output_tokens_max,
            context_tokens: resolved.context_tokens,
            deltas: Deltas { sink: &pieces, start: 7, attempt: 0 },
            patience: self.patience.unwrap_or_else(|| Patience::of(spec.idle_timeout)),
        };
        let attempt = tokio::time::timeout(Duration::from_secs(30), ask.attempt()).await;
        let attempt = attempt.expect("an attempt comes to an end");
        let shown = pieces.take();
        let told = format!("{attempt:?} {shown:?}");
        assert!(!told.contains(KEY), "{told}");
        (attempt, shown)
    }
}

fn hello() -> Request {
    asking(vec![(Role::User, vec![Content::Part(Part::Text("Hello.".into()))])])
}

fn asking(messages: Vec<(Role, Vec<Content>)>) -> Request {
    Request {
        model: None,
        system: None,
        messages: messages.into_iter().map(|(role, content)| Message { role, content }).collect(),
        tools: Vec::new(),
        max_tokens: None,
        options: None,
    }
}

/// A frame of Anthropic's.
fn event(data: Value) -> String {
    let name = data["type"].as_str().unwrap().to_owned();
    format!("event: {name}\ndata: {data}\n\n")
}

/// A frame of OpenAI's.
fn chunk(delta: Value, finish: Option<&str>) -> String {
    let data =
        json!({ "model": "m-1-0", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {data}\n\n")
}

fn done() -> String {
    "data: [DONE]\n\n".into()
}

#[track_caller]
fn completion(attempt: Attempt) -> (Vec<ModelContent>, ModelFinish, Bill) {
    match attempt {
        Attempt::Ended { outcome: ModelOutcome::Completion { content, finish, .. }, bill } => {
            (content, finish, bill)
        }
        other => panic!("{other:?} is no completion"),
    }
}

#[track_caller]
fn again(attempt: Attempt, says: &str) -> Bill {
    match attempt {
        Attempt::Again { why, bill, .. } if why.contains(says) => bill,
        other => panic!("{other:?} is not to be repeated for {says:?}"),
    }
}

#[track_caller]
fn rejected(attempt: Attempt, says: &str) -> Bill {
    match attempt {
        Attempt::Ended { outcome: ModelOutcome::Rejected(why), bill } if why.contains(says) => bill,
        other => panic!("{other:?} is not rejected for {says:?}"),
    }
}

fn text(text: &str) -> ModelContent {
    ModelContent::Part(rewake_wire::Part::text(text))
}

fn tool(id: &str, name: &str, input: &str) -> ModelContent {
    ModelContent::ToolUse { id: id.into(), name: name.into(), input: input.into() }
}

/// A whole request; none, if who sends it goes away before.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4 << 10];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
