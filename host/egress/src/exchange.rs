//! One request over one connection: addresses, their check, the connection to the one that was checked, TLS,
//! HTTP/1.1, and a body within its bound. Knows no grant but which addresses may be reached.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rewake_core::grant::Scheme;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Host;

use super::address::{LOOPBACK, own_kind};
use super::limits::{ADDRESSES_MAX, HEAD_BYTES_MAX, PACE_BYTES};
use super::network::Network;
use super::target::Target;
use super::{Egress, HttpFailure, failed};

/// A response whose body has not been read.
pub struct Head {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    body: Either<Incoming, Full<Bytes>>,
    /// Bytes of the body read since this task last yielded.
    unpaced_bytes: usize,
    /// Ends with the response.
    _connection: JoinSet<()>,
}

/// A request, all of it decided.
pub(crate) struct Sent<'a> {
    pub(crate) target: &'a Target,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The addresses that a request may be sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of the internet.
    Internet,
    /// Those of this machine.
    Loopback,
    /// The address that is the URL's host: it is permitted as such, so it may be of any kind.
    Named,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unreached {
    /// The first address that is out of reach, where all of them are. Its kind is `None` if it is of the internet.
    Refused {
        address: IpAddr,
        kind: Option<&'static str>,
    },
    TimedOut,
    Failed(String),
}

impl Unreached {
    /// As a guest is told.
    pub(crate) fn of_guest(self, target: &Target) -> HttpFailure {
        match self {
            Unreached::Refused { address, kind } => HttpFailure::Denied(format!(
                "{} is at {address}, which is {} and not of the internet: only a grant of that very address reaches it",
                target.origin(),
                kind.unwrap_or("public")
            )),
            Unreached::TimedOut => HttpFailure::TimedOut,
            Unreached::Failed(why) => failed(why),
        }
    }
}

/// A connection, with TLS where the scheme has it.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection on which nothing has been sent.
pub(crate) struct Connection(Box<dyn Stream>);

/// Connects to one of the target's addresses. `each` is the time for each of them, and for TLS.
pub(crate) async fn connect(
    egress: &Egress,
    target: &Target,
    reach: Reach,
    each: Duration,
) -> Result<Connection, Unreached> {
    let network = egress.network.as_ref();
    let addresses = addresses(network, target, reach).await?;
    let stream = dial(network, each, target, &addresses).await?;
    match target.scheme {
        Scheme::Http => Ok(Connection(Box::new(stream))),
        Scheme::Https => {
            let name = server_name(target)?;
            let connector = TlsConnector::from(Arc::<ClientConfig>::clone(&egress.tls));
            let secure = timeout(each, connector.connect(name, stream)).await;
            let secure = secure.map_err(|_| Unreached::TimedOut)?;
            let secure =
                secure.map_err(|error| Unreached::Failed(format!("{}: TLS: {error}", target.origin())))?;
            Ok(Connection(Box::new(secure)))
        }
    }
}

/// Checks a host that is written as an address, as a connection to it would.
pub(crate) fn check_address(target: &Target, reach: Reach) -> Result<(), Unreached> {
    match target.address() {
        Some(address) if reach != Reach::Named && own_kind(address).is_some() => {
            Err(Unreached::Refused { address, kind: own_kind(address) })
        }
        _ => Ok(()),
    }
}

/// The addresses to try, of those that may be reached. What is checked here is what is connected to; the name is
/// not resolved again.
async fn addresses(network: &dyn Network, target: &Target, reach: Reach) -> Result<Vec<IpAddr>, Unreached> {
    let origin = || target.origin();
    let found = match (&target.host, target.address()) {
        (_, Some(address)) if reach == Reach::Named => return Ok(vec![address]),
        (_, Some(address)) => vec![address],
        (Host::Domain(name), None) => {
            let found = network.resolve(name).await;
            found.map_err(|error| {
                Unreached::Failed(format!("the name of {} has no address: {error}", origin()))
            })?
        }
        (_, None) => return Err(Unreached::Failed("the URL names no host".into())),
    };
    let Some(first) = found.first().copied() else {
        return Err(Unreached::Failed(format!("the name of {} has no address", origin())));
    };
    let may_reach = |address: &IpAddr| match reach {
        Reach::Loopback => own_kind(*address) == Some(LOOPBACK),
        Reach::Internet | Reach::Named => own_kind(*address).is_none(),
    };
    let reachable: Vec<IpAddr> = found.into_iter().filter(may_reach).take(ADDRESSES_MAX).collect();
    match reachable.is_empty() {
        true => Err(Unreached::Refused { address: first, kind: own_kind(first) }),
        false => Ok(reachable),
    }
}

async fn dial(
    network: &dyn Network,
    each: Duration,
    target: &Target,
    addresses: &[IpAddr],
) -> Result<TcpStream, Unreached> {
    let mut last = Unreached::TimedOut;
    for address in addresses {
        let address = SocketAddr::new(*address, target.port);
        match timeout(each, network.connect(address)).await {
            Ok(Ok(stream)) => {
                // A small request should not wait for more of it; where this is refused it just does.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = Unreached::Failed(format!("{}: {error}", target.origin())),
            Err(_) => last = Unreached::TimedOut,
        }
    }
    Err(last)
}

/// Sends a request, and waits for the response's head, for as long as the caller does.
pub(crate) async fn exchange(connection: Connection, sent: Sent<'_>) -> Result<Head, HttpFailure> {
    let mut request = Request::new(Full::new(sent.body));
    *request.method_mut() = sent.method;
    *request.uri_mut() =
        sent.target.path().parse().map_err(|_| failed("the URL's path cannot be asked for as it is"))?;
    *request.headers_mut() = sent.headers;
    let said = |error: hyper::Error| match is_head_too_large(&error) {
        true => HttpFailure::TooLarge,
        false => failed(format!("the exchange broke off: {error}")),
    };
    let handshake = hyper::client::conn::http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .handshake(TokioIo::new(connection.0))
        .await;
    let (mut sender, connection) = handshake.map_err(said)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        // What breaks the connection breaks the request, which says so.
        let _ = connection.await;
    });
    let (parts, body) = sender.send_request(request).await.map_err(said)?.into_parts();
    // The buffer's bound holds memory; how much of it one read fills is the client's business.
    let bytes: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEAD_BYTES_MAX {
        return Err(HttpFailure::TooLarge);
    }
    let body = Either::Left(body);
    Ok(Head { status: parts.status, headers: parts.headers, body, unpaced_bytes: 0, _connection: tasks })
}

/// hyper says so to clients in words alone.
fn is_head_too_large(error: &hyper::Error) -> bool {
    error.is_parse() && error.to_string().contains("head is too large")
}

impl Head {
    /// A response that came over no connection.
    pub(crate) fn made(status: StatusCode, headers: HeaderMap, body: Bytes) -> Head {
        let body = Either::Right(Full::new(body));
        Head { status, headers, body, unpaced_bytes: 0, _connection: JoinSet::new() }
    }

    /// The next bytes of the body; `None` at its end. A sender that is never late cannot hold this thread: the task
    /// yields after every `PACE_BYTES`.
    ///
    /// # Errors
    /// If the connection broke: how.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        if self.unpaced_bytes >= PACE_BYTES {
            self.unpaced_bytes = 0;
            yield_now().await;
        }
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| format!("the response broke off: {error}"))?;
            if let Ok(data) = frame.into_data() {
                self.unpaced_bytes += data.len();
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Reads the body to its end.
    pub(crate) async fn read(mut self, bytes_max: usize) -> Result<Vec<u8>, HttpFailure> {
        if self.body.size_hint().lower() > bytes_max as u64 {
            return Err(HttpFailure::TooLarge);
        }
        let mut bytes = Vec::new();
        while let Some(data) = self.chunk().await.map_err(failed)? {
            if bytes.len() + data.len() > bytes_max {
                return Err(HttpFailure::TooLarge);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }
}

fn server_name(target: &Target) -> Result<ServerName<'static>, Unreached> {
    match &target.host {
        Host::Ipv4(address) => Ok(ServerName::from(IpAddr::V4(*address))),
        Host::Ipv6(address) => Ok(ServerName::from(IpAddr::V6(*address))),
        Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|_| {
            Unreached::Failed(format!("{} is not a name that a certificate can have", target.origin()))
        }),
    }
}
