//! One request over one connection: addresses, their check, the connection to the one that was checked, TLS,
//! HTTP/1.1, and a body within its bound. Knows no grant but whether an address was granted as such.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rewake_core::grant::Scheme;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Host;

use super::address::own_kind;
use super::limits::{ADDRESSES_MAX, HEAD_BYTES_MAX, HttpLimits};
use super::network::Network;
use super::target::Target;
use super::{Egress, HttpFailure, failed};

/// A response whose body has not been read.
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    /// Ends with the response.
    _connection: JoinSet<()>,
}

/// A request, all of it decided.
pub(crate) struct Sent<'a> {
    pub(crate) target: &'a Target,
    pub(crate) is_of_address: bool,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Sends a request, and waits for the response's head.
pub(crate) async fn send(egress: &Egress, sent: Sent<'_>) -> Result<Head, HttpFailure> {
    let Egress { network, limits, tls } = egress;
    let (network, target) = (network.as_ref(), sent.target);
    let addresses = addresses(network, target, sent.is_of_address).await?;
    let stream = connect(network, limits, target, &addresses).await?;
    let mut request = Request::new(Full::new(sent.body));
    *request.method_mut() = sent.method;
    *request.uri_mut() =
        target.path().parse().map_err(|_| failed("the URL's path cannot be asked for as it is"))?;
    *request.headers_mut() = sent.headers;
    match target.scheme {
        Scheme::Http => exchange(limits, stream, request).await,
        Scheme::Https => {
            let name = server_name(target)?;
            let connector = TlsConnector::from(Arc::<ClientConfig>::clone(tls));
            let secure = timeout(limits.connect, connector.connect(name, stream)).await;
            let secure = secure.map_err(|_| HttpFailure::TimedOut)?;
            let secure = secure.map_err(|error| failed(format!("{}: TLS: {error}", target.origin())))?;
            exchange(limits, secure, request).await
        }
    }
}

/// The addresses to try: those of the name that are the internet's, or the one that is granted as such.
/// What is checked here is what is connected to; the name is not asked for again.
async fn addresses(
    network: &dyn Network,
    target: &Target,
    is_of_address: bool,
) -> Result<Vec<IpAddr>, HttpFailure> {
    let name = match (&target.host, target.address()) {
        (_, Some(address)) if is_of_address => return Ok(vec![address]),
        (_, Some(address)) => return public(target, vec![address]),
        (Host::Domain(name), None) => name,
        (_, None) => return Err(failed("the URL names no host")),
    };
    let found = network.resolve(name).await;
    let found =
        found.map_err(|error| failed(format!("the name of {} has no address: {error}", target.origin())))?;
    if found.is_empty() {
        return Err(failed(format!("the name of {} has no address", target.origin())));
    }
    public(target, found)
}

fn public(target: &Target, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, HttpFailure> {
    let own = found.iter().find_map(|address| own_kind(*address).map(|kind| (*address, kind)));
    let mut public: Vec<IpAddr> = found.into_iter().filter(|address| own_kind(*address).is_none()).collect();
    public.truncate(ADDRESSES_MAX);
    match own {
        Some((address, kind)) if public.is_empty() => Err(HttpFailure::Denied(format!(
            "{} is at {address}, which is {kind} and not of the internet: only a grant of that very address reaches it",
            target.origin()
        ))),
        _ => Ok(public),
    }
}

async fn connect(
    network: &dyn Network,
    limits: &HttpLimits,
    target: &Target,
    addresses: &[IpAddr],
) -> Result<TcpStream, HttpFailure> {
    let mut last = HttpFailure::TimedOut;
    for address in addresses {
        let address = SocketAddr::new(*address, target.port);
        match timeout(limits.connect, network.connect(address)).await {
            Ok(Ok(stream)) => {
                // A small request should not wait for more of it; where this is refused it just does.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = failed(format!("{}: {error}", target.origin())),
            Err(_) => last = HttpFailure::TimedOut,
        }
    }
    Err(last)
}

async fn exchange<S>(
    limits: &HttpLimits,
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<Head, HttpFailure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let said = |error: hyper::Error| match is_head_too_large(&error) {
        true => HttpFailure::TooLarge,
        false => failed(format!("the exchange broke off: {error}")),
    };
    let handshake = hyper::client::conn::http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .handshake(TokioIo::new(stream))
        .await;
    let (mut sender, connection) = handshake.map_err(said)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        // What breaks the connection breaks the request, which says so.
        let _ = connection.await;
    });
    let response = timeout(limits.head, sender.send_request(request)).await;
    let response = response.map_err(|_| HttpFailure::TimedOut)?.map_err(said)?;
    let (parts, body) = response.into_parts();
    // The buffer's bound holds memory; how much of it one read fills is the client's business.
    let bytes: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEAD_BYTES_MAX {
        return Err(HttpFailure::TooLarge);
    }
    Ok(Head { status: parts.status, headers: parts.headers, body, _connection: tasks })
}

/// hyper says so to clients in words alone.
fn is_head_too_large(error: &hyper::Error) -> bool {
    error.is_parse() && error.to_string().contains("head is too large")
}

impl Head {
    /// Reads the body to its end.
    pub(crate) async fn read(mut self, bytes_max: usize) -> Result<Vec<u8>, HttpFailure> {
        if self.body.size_hint().lower() > bytes_max as u64 {
            return Err(HttpFailure::TooLarge);
        }
        let mut bytes = Vec::new();
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| failed(format!("the response broke off: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > bytes_max {
                return Err(HttpFailure::TooLarge);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }
}

fn server_name(target: &Target) -> Result<ServerName<'static>, HttpFailure> {
    match &target.host {
        Host::Ipv4(address) => Ok(ServerName::from(IpAddr::V4(*address))),
        Host::Ipv6(address) => Ok(ServerName::from(IpAddr::V6(*address))),
        Host::Domain(name) => ServerName::try_from(name.clone())
            .map_err(|_| failed(format!("{} is no name that a certificate can have", target.origin()))),
    }
}
