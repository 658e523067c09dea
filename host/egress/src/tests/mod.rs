//! The way out, against servers in this process and names that mean what a test says.

mod grants;
mod models;
mod redirects;
mod secrets;
mod sizes;
mod tls;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rewake_core::grant::{HttpGrant, Scheme, SecretGrant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::network::Network;
use super::secrets::Secret;
use super::{Egress, HttpAnswer, HttpCall, HttpFailure, HttpLimits, Pass};

/// What a server does with a request's text: the bytes of its answer, as they are.
type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server on this machine that keeps what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer): (_, Arc<Answer>) = (asked.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kept.clone(), answer.clone()));
            }
        });
        Server { address, asked }
    }

    /// One that says `ok`, whatever it is asked.
    async fn ok() -> Server {
        Server::start(|_| response("200 OK", &[], "ok")).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// A grant of this server by its address.
    fn grant(&self, methods: &[&str]) -> HttpGrant {
        grant(Scheme::Http, &self.address.to_string(), methods)
    }
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<String>>>, answer: Arc<Answer>) {
    let Some(text) = request(&mut stream).await else { return };
    asked.lock().unwrap().push(text.clone());
    let _ = stream.write_all(&answer(&text)).await;
    let _ = stream.shutdown().await;
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

fn response(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn grant(scheme: Scheme, host: &str, methods: &[&str]) -> HttpGrant {
    let methods = methods.iter().map(|method| (*method).to_owned()).collect();
    HttpGrant { scheme, host: host.into(), methods, honours_key: false, secret: None }
}

fn with_secret(grant: HttpGrant) -> HttpGrant {
    let secret =
        SecretGrant { config: "key".into(), header: "Authorization".into(), format: "Bearer {}".into() };
    HttpGrant { secret: Some(secret), ..grant }
}

/// The secret that tests send and look for.
const CANARY: &str = "canary-7f3a9b/with+signs";

/// A network whose names mean what a test says, one answer after the other, and whose every connection
/// goes to one server; it keeps the addresses that were connected to.
#[derive(Clone, Default)]
struct Fake {
    names: Arc<Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>>,
    server: Option<SocketAddr>,
    dialled: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Fake {
    fn to(server: &Server) -> Fake {
        Fake { server: Some(server.address), ..Fake::default() }
    }

    fn name(self, name: &str, answers: &[&[&str]]) -> Fake {
        let answers = answers.iter().map(|one| one.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        self.names.lock().unwrap().insert(name.into(), answers);
        self
    }

    fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

impl Network for Fake {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut names = self.names.lock().unwrap();
            let answers = names.get_mut(host).ok_or_else(|| io::Error::other("no such name"))?;
            answers.pop_front().ok_or_else(|| io::Error::other("asked too often"))
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.dialled.lock().unwrap().push(address);
        Box::pin(TcpStream::connect(self.server.unwrap_or(address)))
    }
}

fn bounds() -> HttpLimits {
    HttpLimits {
        request_bytes_max: 1_000,
        response_bytes_max: 10_000,
        total: Duration::from_secs(20),
        connect: Duration::from_secs(5),
        head: Duration::from_secs(10),
    }
}

fn over(network: &Fake) -> Egress {
    trusting(network, bounds(), &[])
}

fn trusting(network: &Fake, limits: HttpLimits, authorities: &[CertificateDer<'static>]) -> Egress {
    Egress { network: Arc::new(network.clone()), ..Egress::new(limits, authorities).unwrap() }
}

fn get(url: impl Into<String>) -> HttpCall {
    HttpCall { method: "GET".into(), url: url.into(), ..HttpCall::default() }
}

/// Fetches over a network with grants, no key, and the canary as the secret.
async fn fetch(network: &Fake, grants: &[HttpGrant], call: &HttpCall) -> Result<HttpAnswer, HttpFailure> {
    let secrets = BTreeMap::from([(("test/b".to_owned(), "key".to_owned()), Secret::new(CANARY))]);
    let pass = Pass { grants, bundle: "test/b", secrets: &secrets, key: None };
    over(network).fetch(&pass, call).await
}

#[track_caller]
fn denied(result: Result<HttpAnswer, HttpFailure>, says: &str) {
    match result {
        Err(HttpFailure::Denied(why)) => assert!(why.contains(says), "{says:?} is not in {why:?}"),
        other => panic!("{other:?} is no denial with {says:?}"),
    }
}

#[track_caller]
fn text(result: Result<HttpAnswer, HttpFailure>) -> String {
    String::from_utf8(result.expect("an answer").body).expect("text")
}
