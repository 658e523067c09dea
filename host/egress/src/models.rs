//! The way out to providers of models. They are asked through a library that brings its own client of HTTP; this
//! is the one place where that client is made, so that it does what the rest of the way out does: our
//! authorities, addresses that were checked, no proxy of the environment, no redirects.
//!
//! Knows addresses and connections. Does not know keys, nor what is asked.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use rewake_core::grant::Scheme;
use tokio_rustls::rustls::ClientConfig;
use url::Host;

use super::Egress;
use super::address::own_kind;
use super::limits::ADDRESSES_MAX;
use super::network::Network;
use super::target::{Target, bounded};

/// Time until a connection stands, TLS included.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// Kinds of addresses that an operator can name as such: servers of their own.
const NAMEABLE: [&str; 3] = ["loopback", "private", "a carrier's own (CGNAT)"];
const LOOPBACK: &str = "loopback";

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

impl Egress {
    /// A client for requests to one address, and for nothing else: it keeps no connection.
    ///
    /// # Errors
    /// TLS cannot be done at all.
    pub fn model_client(&self, address: &ModelAddress) -> Result<reqwest::Client, String> {
        let resolver = Checked { network: self.network.clone(), is_localhost: address.is_localhost() };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(ClientConfig::clone(&self.tls))
            .https_only(address.target.scheme == Scheme::Https)
            .http1_only()
            // What unpacks itself has no size that could be bounded on the way.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .dns_resolver(resolver)
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_MAX)
            .user_agent(concat!("rewake/", env!("CARGO_PKG_VERSION")))
            .build();
        client.map_err(|error| format!("the client of HTTP cannot be made: {error}"))
    }
}

/// Why a name is not connected to: what it means is not of the internet.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotOfTheInternet(String);

/// Names as the network knows them, checked.
struct Checked {
    network: Arc<dyn Network>,
    /// The name is this machine's, so its addresses must be.
    is_localhost: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (network, is_localhost) = (self.network.clone(), self.is_localhost);
        Box::pin(async move {
            let found = network.resolve(name.as_str()).await?;
            let kinds = found.into_iter().map(|address| (address, own_kind(address)));
            let (good, bad): (Vec<_>, Vec<_>) = kinds.partition(|(_, kind)| match is_localhost {
                true => *kind == Some(LOOPBACK),
                false => kind.is_none(),
            });
            if let ([], Some((address, kind))) = (good.as_slice(), bad.first()) {
                return Err(NotOfTheInternet(refusal(name.as_str(), *address, *kind)).into());
            }
            // The port is the URL's.
            let addresses = good.into_iter().take(ADDRESSES_MAX).map(|(address, _)| (address, 0_u16).into());
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn refusal(name: &str, address: IpAddr, kind: Option<&str>) -> String {
    match kind {
        Some(kind) => format!(
            "{name} is at {address}, which is {kind} and not of the internet: to ask a model there, write the address itself into `base_url`"
        ),
        None => format!("{name} is at {address}, which is not of this machine"),
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
