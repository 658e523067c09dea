//! Patterns of hosts, as manifests ask for them and as an operator allows them.
//!
//! A pattern is compared with the host of a URL that has been read. Nothing here resolves a name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

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

/// Why a text is not a pattern of hosts: a predicate, such as `is a URL`. The text itself is left out, because it is
/// untrusted and the caller knows how to quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidHost(pub &'static str);

impl HostPattern {
    /// Reads `api.example.com`, `api.example.com:8443`, `*.example.com`, `[::1]:80` or `*`.
    ///
    /// # Errors
    /// If it is anything else: a URL, a path, a `*` elsewhere.
    pub fn parse(text: &str) -> Result<HostPattern, InvalidHost> {
        let refuse = |why| Err(InvalidHost(why));
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
