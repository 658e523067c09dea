//! What a component asks for: mounts and HTTP hosts. Asks, never grants: what a session gives is
//! decided elsewhere.
//!
//! Knows how an ask is written and what it could reach. Does not know operators or addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rewake_core::grant::{Access, HttpGrant, Scheme, SecretGrant};
use serde_spanned::Spanned;

use super::error::{Invalid, quote, quote_all};
use super::matcher::GrantKind;

/// What a component asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Directories.
    pub fs: Vec<FsAsk>,
    /// Hosts.
    pub http: Vec<HttpAsk>,
}

/// A directory that a component asks to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FsAsk {
    /// Where the guest sees it: an absolute path.
    pub mount: String,
    /// What is behind it.
    pub source: FsSource,
    /// Whether it may be written.
    pub access: Access,
    /// The author's reason, shown to who grants it.
    pub why: Option<String>,
}

/// What is behind a mount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FsSource {
    /// The session's workspace.
    Workspace,
    /// An empty directory, gone after the call.
    Scratch,
    /// The bundle's own files.
    Bundle,
    /// A directory of the host, by the name that the operator's configuration gives it.
    Host(String),
}

/// A host that a component asks to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAsk {
    /// Over TLS, or in clear text.
    pub scheme: Scheme,
    /// Which hosts.
    pub host: HostPattern,
    /// Methods, in upper case, each once, in the order of the manifest.
    pub methods: Vec<String>,
    /// Whether the receiver does a `PUT` or `DELETE` once for each `Idempotency-Key`.
    pub honours_key: bool,
    /// A secret that the host adds to allowed requests.
    pub secret: Option<Secret>,
    /// The author's reason, shown to who grants it.
    pub why: Option<String>,
}

/// A secret of the bundle's configuration, and how it goes into a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// A sensitive key of `[config]`.
    pub config: Spanned<String>,
    /// The header that carries it.
    pub header: String,
    /// The header's value, with `{}` where the secret goes.
    pub format: String,
}

/// Hosts by name: one, all below a domain, or any. Narrowed by what the operator allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: HostName,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Any,
    Below(String),
    Exact(String),
}

/// Methods that can be asked for.
pub(super) const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl Asks {
    /// The kinds of grant that these asks would amount to, if all were granted; each once.
    pub fn grant_kinds(&self) -> Vec<GrantKind> {
        let mut kinds: Vec<GrantKind> = self.fs.iter().map(|ask| GrantKind::of_mount(ask.access)).collect();
        kinds.extend(self.http.first().map(|_| GrantKind::Http));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The asks as they are shown and allowed: `fs:workspace:ro`, `http:api.example.com:GET`.
    pub fn describe(&self) -> Vec<String> {
        let fs = self.fs.iter().map(|ask| match ask.access {
            Access::ReadOnly => format!("fs:{}:ro", ask.source),
            Access::ReadWrite => format!("fs:{}:rw", ask.source),
        });
        let http = self.http.iter().flat_map(|ask| ask.methods.iter().map(|method| ask.line(method)));
        let mut asks: Vec<String> = fs.chain(http).collect();
        asks.sort_unstable();
        asks.dedup();
        asks
    }
}

impl HttpAsk {
    /// One method of it as it is shown and allowed: `http:api.example.com:GET`, and for clear text
    /// `http:http://127.0.0.1:8080:GET`.
    pub fn line(&self, method: &str) -> String {
        match self.scheme {
            Scheme::Https => format!("http:{}:{method}", self.host),
            Scheme::Http => format!("http:http://{}:{method}", self.host),
        }
    }

    /// The grant that the allowed ones of its lines amount to; none, if none is.
    pub fn grant(&self, is_allowed: impl Fn(&str) -> bool) -> Option<HttpGrant> {
        let methods = self.methods.iter().filter(|method| is_allowed(&self.line(method)));
        let methods: Vec<String> = methods.cloned().collect();
        let secret = self.secret.as_ref().map(|secret| SecretGrant {
            config: secret.config.get_ref().clone(),
            header: secret.header.clone(),
            format: secret.format.clone(),
        });
        let (scheme, host, honours_key) = (self.scheme, self.host.to_string(), self.honours_key);
        (!methods.is_empty()).then_some(HttpGrant { scheme, host, methods, honours_key, secret })
    }
}

impl fmt::Display for FsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FsSource::Workspace => f.write_str("workspace"),
            FsSource::Scratch => f.write_str("scratch"),
            FsSource::Bundle => f.write_str("bundle"),
            FsSource::Host(name) => write!(f, "host:{name}"),
        }
    }
}

impl FsSource {
    pub(crate) fn parse(text: &str) -> Result<FsSource, Invalid> {
        let word = |name: &str| {
            !name.is_empty()
                && name.len() <= 64
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        match text {
            "workspace" => Ok(FsSource::Workspace),
            "scratch" => Ok(FsSource::Scratch),
            "bundle" => Ok(FsSource::Bundle),
            _ => match text.strip_prefix("host:") {
                Some(name) if word(name) => Ok(FsSource::Host(name.to_owned())),
                _ => Err(Invalid::new(format!("`source` cannot be {}", quote(text))).help(
                    "it is \"workspace\", \"scratch\", \"bundle\", or \"host:NAME\" with a name that the operator gives a directory",
                )),
            },
        }
    }
}

impl HostPattern {
    /// Reads `api.example.com`, `api.example.com:8443`, `*.example.com`, `[::1]:80` or `*`.
    ///
    /// # Errors
    /// If it is anything else: a URL, a path, a `*` elsewhere.
    pub fn parse(text: &str) -> Result<HostPattern, Invalid> {
        let refuse = |why: &str| {
            Err(Invalid::new(format!("{} {why}", quote(text))).help(
                "write a host alone, such as \"api.example.com\", \"*.example.com\" or \"localhost:8080\"",
            ))
        };
        if text.contains("://") || text.contains('/') {
            return refuse("is a URL");
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || (host.starts_with('[') && host.ends_with(']')) => {
                let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
                match port.parse::<u16>() {
                    Ok(port) if digits && port > 0 => (host, Some(port)),
                    _ => return refuse("has no valid port after the `:`"),
                }
            }
            _ => (text, None),
        };
        let host = host.to_ascii_lowercase();
        let host = match host.strip_prefix("*.") {
            _ if host == "*" => HostName::Any,
            Some(domain) if is_dns_name(domain) => HostName::Below(domain.to_owned()),
            None if is_dns_name(&host) || host.parse::<Ipv4Addr>().is_ok() => HostName::Exact(host),
            None => match ipv6_literal(&host) {
                Some(address) => HostName::Exact(format!("[{address}]")),
                None if !host.is_ascii() => return refuse("is not written in ASCII, as `xn--…`"),
                None => return refuse("is not a host"),
            },
            Some(_) => return refuse("is not a host"),
        };
        Ok(HostPattern { host, port })
    }

    /// Whether it means every host there is.
    pub fn is_any(&self) -> bool {
        self.host == HostName::Any
    }

    /// The one address that it means, if it is written as one.
    pub fn address(&self) -> Option<IpAddr> {
        let HostName::Exact(host) = &self.host else { return None };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.unwrap_or(host).parse().ok()
    }

    /// Whether a request to this host and port is asked for. Without a port the pattern means the
    /// scheme's own, which `default_port` is.
    pub fn matches(&self, host: &str, port: u16, default_port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let named = match &self.host {
            HostName::Any => true,
            HostName::Exact(name) => *name == host,
            HostName::Below(domain) => host
                .strip_suffix(domain.as_str())
                .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
        };
        named && self.matches_port(port, default_port)
    }

    /// Whether this port is asked for. Without one the pattern means `default_port`.
    pub fn matches_port(&self, port: u16, default_port: u16) -> bool {
        port == self.port.unwrap_or(default_port)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostName::Any => f.write_str("*")?,
            HostName::Below(domain) => write!(f, "*.{domain}")?,
            HostName::Exact(host) => f.write_str(host)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

pub(crate) fn method(text: &str) -> Result<String, Invalid> {
    if METHODS.contains(&text) {
        return Ok(text.to_owned());
    }
    let help = match METHODS.iter().find(|method| method.eq_ignore_ascii_case(text)) {
        Some(method) => format!("write \"{method}\""),
        None => format!("it is one of {}", quote_all(METHODS)),
    };
    Err(Invalid::new(format!("{} is not a method that can be asked for", quote(text))).help(help))
}

/// A header's name that a secret may go into: not one that frames or routes the request.
pub(super) fn secret_header(text: &str) -> Result<String, Invalid> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.is_empty() || !text.bytes().all(token) {
        return Err(Invalid::new(format!("{} is not a header's name", quote(text)))
            .help("write a name such as \"Authorization\""));
    }
    if !crate::egress::can_carry_secret(text) {
        return Err(Invalid::new(format!("{} cannot carry a secret", quote(text))).help(
            "use a header that does not say where the request goes, where it ends, or how it is answered",
        ));
    }
    Ok(text.to_owned())
}

pub(super) fn secret_format(text: &str) -> Result<String, Invalid> {
    let visible = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if visible && text.matches("{}").count() == 1 {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(format!("{} is not a format for a secret", quote(text)))
        .help("write plain ASCII with `{}` once, where the secret goes, such as \"Bearer {}\""))
}

/// A name: not what a URL would read as an address, such as `127.1`.
fn is_dns_name(host: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    host.len() <= 253 && host.split('.').all(label) && !is_number
}

fn ipv6_literal(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']'))?.parse().ok()
}
