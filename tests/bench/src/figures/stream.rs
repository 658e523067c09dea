//! What we add to a model's first token: from a message that is sent to the request's arrival, and from the first
//! piece's leaving to anyone who follows the session. A server on this machine speaks a provider's protocol; a plain
//! reader of the same bytes is what it is compared with.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rewake_runtime::live::Live;

use crate::bed::{Bed, Plan, Session};
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};
use crate::stats::{Rounds, median};
use crate::{Failed, Result};

/// How long the server thinks: by then anyone who asked waits.
const THINKS: Duration = Duration::from_millis(3);
/// The name of the model in the rules.
const MODEL: &str = "bench";

pub(super) async fn first(bench: &mut Bench) -> Result<Vec<Row>> {
    let many = bench.pick(20, 8);
    let server = Server::start()?;
    let bed = Bed::durable(&bench.places).await?;
    let rules = format!(
        "[models.{MODEL}]\nprovider = \"openai\"\nmodel = \"m-1\"\nbase_url = \"http://{}/v1\"\nmax_tokens = 500\n",
        server.address
    );
    std::fs::write(bed.path().join("rewake.toml"), rules)?;
    let bundle = bed.bundle(&[])?;
    let id = bed.create(&bundle, Some(MODEL)).await?;
    let mut session = Session::load(&bed.host, &id).await?;
    let request = ours(&mut session, &server).await?.request;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let rounds = bench
        .rounds(async || {
            let mut added = Vec::new();
            for _ in 0..many {
                let ours = ours(&mut session, &server).await?;
                let plain = plain(&server, &request)?;
                before.push(ours.before_ms - plain.before_ms);
                after.push(ours.after_ms - plain.after_ms);
                added.push(ours.before_ms + ours.after_ms - plain.before_ms - plain.after_ms);
            }
            Ok(added)
        })
        .await?;
    bed.close().await;
    Ok(vec![row(bench, &rounds, median(&before), median(&after))])
}

fn row(bench: &Bench, rounds: &Rounds, before_ms: f64, after_ms: f64) -> Row {
    let row = Row::of("added to a model's first token", Unit::Ms, rounds, bench.least(), rounds.spread());
    row.target(Target::at_most(10.0)).note(format!(
        "{before_ms:.2} ms from a message to its request at the provider, with its commits; {after_ms:.2} ms from \
         the provider's first piece to a follower; 99 of 100 took at most {:.2} ms",
        rounds.quantile(0.99).median
    ))
}

/// One request, in two parts, in milliseconds.
struct Asked {
    /// From its beginning to its arrival.
    before_ms: f64,
    /// From the first piece's leaving to its arrival.
    after_ms: f64,
    request: String,
}

/// A message to a session whose harness asks the model.
async fn ours(session: &mut Session, server: &Server) -> Result<Asked> {
    let since = Instant::now();
    session.send(&Plan { asks: true, ..Plan::default() }).await?;
    let heard = loop {
        if let Live::Delta { .. } = session.next().await? {
            break Instant::now();
        }
    };
    let asked = server.asked(since, heard)?;
    session.entry("turn.completed").await?;
    session.rest().await?;
    Ok(asked)
}

/// The same request over a connection of its own, read as it comes.
fn plain(server: &Server, request: &str) -> Result<Asked> {
    let since = Instant::now();
    let mut stream = TcpStream::connect(server.address)?;
    stream.set_nodelay(true)?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    let mut buffer = [0; 4 << 10];
    let mut heard = None;
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if text.contains("data: ") {
            heard.get_or_insert_with(Instant::now);
        }
    }
    server.asked(since, heard.ok_or_else(|| Failed::from("the server said nothing"))?)
}

/// What the server saw of a request.
struct Seen {
    arrived: Instant,
    left: Instant,
    request: String,
}

/// A server that answers everything with a piece of text, after thinking for a moment.
struct Server {
    address: SocketAddr,
    seen: Receiver<Seen>,
}

impl Server {
    fn start() -> Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (sender, seen) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || answer(stream, &sender));
            }
        });
        Ok(Server { address, seen })
    }

    /// The request that was heard of last, by when it began and when its answer was heard.
    fn asked(&self, since: Instant, heard: Instant) -> Result<Asked> {
        let Seen { arrived, left, request } = self.seen.recv_timeout(Duration::from_secs(10))?;
        let ms = |passed: Duration| passed.as_secs_f64() * 1e3;
        Ok(Asked { before_ms: ms(arrived - since), after_ms: ms(heard - left), request })
    }
}

/// Anyone who goes away before the end is no matter: the run ends then.
fn answer(mut stream: TcpStream, seen: &Sender<Seen>) {
    let _ = stream.set_nodelay(true);
    let Some(request) = read(&mut stream) else { return };
    let arrived = Instant::now();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
    thread::sleep(THINKS);
    let left = Instant::now();
    let _ = stream.write_all(piece(r#"{"content":"Yes."}"#, "null").as_bytes());
    let _ = seen.send(Seen { arrived, left, request });
    let counts = r#"data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}"#;
    let end = format!("{}{counts}\n\ndata: [DONE]\n\n", piece("{}", "\"stop\""));
    let _ = stream.write_all(end.as_bytes());
}

fn piece(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"model\":\"m-1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

/// A whole request; none, if who sends it goes away before.
fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8 << 10];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
