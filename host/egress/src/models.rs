//! Requests to providers of models. They take the same path as those of guests: checked addresses, our authorities,
//! no proxy of the environment, no redirects, one connection for each request. What differs is the permission, which
//! is the address in the operator's rules, and that the response is read as it comes.
//!
//! Knows addresses and connections. Does not know keys, nor what is asked.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use rewake_core::grant::Scheme;
use tokio::time::timeout;
use url::Host;

use super::address::{LOOPBACK, own_kind};
use super::exchange::{self, Head, Reach, Sent, Unreached};
use super::target::{Target, bounded};
use super::{Egress, headers};

/// Time until a connection is established, name and TLS included.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// Time for each address of a name, so that one which does not answer leaves time for the others.
const CONNECT_EACH: Duration = Duration::from_secs(10);
/// Kinds of addresses that an operator can name as such: servers of their own.
const NAMEABLE: [&str; 3] = [LOOPBACK, "private", "a carrier's own (CGNAT)"];

/// Where models are asked: a URL that ends with a slash, before what each protocol adds to it.
#[derive(Clone)]
pub struct ModelAddress {
    target: Target,
}

impl ModelAddress {
    /// Reads a base URL. An address of this machine or its network is taken as it stands: that it is written
    /// is its permission.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<ModelAddress, String> {
        let mut target = Target::parse(text)?;
        if target.url.query().is_some() {
            return Err("it has a query".into());
        }
        if let Some(address) = target.address()
            && let Some(kind) = own_kind(address)
            && !NAMEABLE.contains(&kind)
        {
            return Err(format!("{address} is {kind}"));
        }
        if !target.url.path().ends_with('/') {
            let path = format!("{}/", target.url.path());
            target.url.set_path(&path);
            bounded(target.url.as_str())?;
        }
        Ok(ModelAddress { target })
    }

    /// The scheme, host and port.
    pub fn origin(&self) -> String {
        self.target.origin()
    }

    /// All of it, ending with a slash.
    pub fn base(&self) -> &str {
        self.target.url.as_str()
    }

    /// Whether what is sent there leaves this machine.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        match self.target.address() {
            Some(address) => own_kind(address) == Some(LOOPBACK),
            None => self.is_localhost(),
        }
    }

    /// Whether a key would be sent in clear text for others to read.
    pub fn shows_keys(&self) -> bool {
        self.target.scheme == Scheme::Http && !self.is_of_this_machine()
    }

    /// The URL of what a protocol adds to this address.
    fn join(&self, path: &str) -> Target {
        let mut target = self.target.clone();
        let path = format!("{}{path}", target.url.path());
        target.url.set_path(&path);
        target
    }

    fn reach(&self) -> Reach {
        match self.target.address() {
            Some(_) => Reach::Named,
            None if self.is_localhost() => Reach::Loopback,
            None => Reach::Internet,
        }
    }

    fn is_localhost(&self) -> bool {
        let Host::Domain(name) = &self.target.host else { return false };
        name == "localhost" || name.ends_with(".localhost")
    }
}

/// Compared as they are written: two spellings of one address are two.
impl PartialEq for ModelAddress {
    fn eq(&self, other: &ModelAddress) -> bool {
        self.target.url == other.target.url
    }
}

impl fmt::Debug for ModelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base())
    }
}

/// A request to a model. The caller has checked that the operator's rules name its address.
pub struct ModelRequest<'a> {
    /// Where the model is asked.
    pub address: &'a ModelAddress,
    /// What the protocol adds to the address, such as `messages`.
    pub path: &'a str,
    /// Its headers, the key among them.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug)]
pub enum NotOpened {
    /// The name's addresses are not those that it may have: why, and what to do.
    Refused(String),
    /// There was no connection, so nothing was sent.
    Unreached(String),
    /// The request was sent, at least in part, and no response came.
    NoResponse(String),
}

impl Egress {
    /// Sends a request to a model, and waits for the response's head, for as long as the caller does.
    ///
    /// # Errors
    /// If there is no response.
    pub async fn open(&self, request: ModelRequest<'_>) -> Result<Head, NotOpened> {
        let ModelRequest { address, path, mut headers, body } = request;
        let target = address.join(path);
        if self.mocks.is_some() {
            return Err(NotOpened::Refused(format!(
                "{} is not asked in a test: only scripted models are, unless the tests may reach the network (--network)",
                target.origin()
            )));
        }
        headers::complete(&mut headers, &target.authority()).map_err(NotOpened::Unreached)?;
        let connection = exchange::connect(self, &target, address.reach(), CONNECT_EACH);
        let connection = timeout(CONNECT_MAX, connection).await.unwrap_or(Err(Unreached::TimedOut));
        let connection = connection.map_err(|why| not_opened(why, &target))?;
        let sent = Sent { target: &target, method: Method::POST, headers, body };
        let head = exchange::exchange(connection, sent).await;
        head.map_err(|failure| NotOpened::NoResponse(failure.words()))
    }
}

fn not_opened(why: Unreached, target: &Target) -> NotOpened {
    let host = &target.host;
    match why {
        Unreached::Refused { address, kind: Some(kind) } => NotOpened::Refused(format!(
            "{host} is at {address}, which is {kind} and not of the internet: to ask a model there, write the address itself into `base_url`"
        )),
        Unreached::Refused { address, kind: None } => {
            NotOpened::Refused(format!("{host} is at {address}, which is not of this machine"))
        }
        Unreached::TimedOut => {
            NotOpened::Unreached(format!("no connection within {} s", CONNECT_MAX.as_secs()))
        }
        Unreached::Failed(why) => NotOpened::Unreached(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_their_slash() {
        for (text, base) in [
            ("https://api.example.com", "https://api.example.com/"),
            ("https://api.example.com/v1", "https://api.example.com/v1/"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/"),
            ("http://192.168.1.7:11434/v1", "http://192.168.1.7:11434/v1/"),
            ("http://[::1]:80/a#b", "http://[::1]/a/"),
        ] {
            assert_eq!(ModelAddress::parse(text).unwrap().base(), base, "{text}");
        }
        for (text, says) in [
            ("ftp://a.example", "HTTP"),
            ("https://user:key@a.example", "password"),
            ("https://a.example/?key=1", "query"),
            ("http://169.254.169.254/", "link-local"),
            ("http://0.0.0.0:1/", "unspecified"),
            ("a.example", "no URL"),
        ] {
            let why = ModelAddress::parse(text).unwrap_err();
            assert!(why.contains(says) && !why.contains("key@"), "{text}: {why}");
        }
    }

    /// The bound holds of what is sent, not of what was written: a URL that is read can be read again.
    #[test]
    fn addresses_are_bounded_as_they_are_sent() {
        let room = super::super::URL_BYTES_MAX - "https://a.example//".len();
        let long = |path: String| ModelAddress::parse(&format!("https://a.example/{path}"));
        assert_eq!(long("x".repeat(room)).unwrap().base().len(), super::super::URL_BYTES_MAX);
        for path in ["x".repeat(room + 1), "<".repeat(room / 2), "é".repeat(room / 4)] {
            let why = long(path).unwrap_err();
            assert!(why.contains("at most 8192 are taken"), "{why}");
        }
    }

    #[test]
    fn keys_in_clear_text_stay_on_this_machine() {
        for (text, shows) in [
            ("https://api.example.com", false),
            ("http://127.0.0.1:8080", false),
            ("http://localhost:8080", false),
            ("http://[::1]", false),
            ("http://192.168.1.7", true),
            ("http://api.example.com", true),
            ("http://localhost.example.com", true),
        ] {
            assert_eq!(ModelAddress::parse(text).unwrap().shows_keys(), shows, "{text}");
        }
    }
}
