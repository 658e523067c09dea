//! Grants: what a component may use. Deny is the absence of a grant.

mod host;

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use host::{HostPattern, InvalidHost};

/// What a component may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// Directories it sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FsGrant>,
    /// Hosts it reaches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpGrant>,
    /// Models that a harness may ask beside the session's own, by their names in the operator's rules;
    /// [`ANY_MODEL`]: each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

/// As the name of a model: any model of the operator's rules.
pub const ANY_MODEL: &str = "*";

/// Hosts that a guest reaches over HTTP, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpGrant {
    /// Over TLS or in clear text.
    pub scheme: Scheme,
    /// As manifests write it: `api.example.com`, `*.example.com`, `127.0.0.1:8080`, `*`.
    pub host: String,
    /// Methods, in upper case.
    pub methods: Vec<String>,
    /// The receiver does a `PUT` or `DELETE` once for each `Idempotency-Key`, however often it comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub honours_key: bool,
    /// A secret that the host puts into every request that the grant allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretGrant>,
}

/// How a request is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Over TLS.
    Https,
    /// In clear text.
    Http,
}

/// A secret, by the name of its configuration key; its value is never in a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretGrant {
    /// The key in the bundle's configuration.
    pub config: String,
    /// The header that carries it.
    pub header: String,
    /// The header's value, with `{}` where the secret goes.
    pub format: String,
}

/// A directory that a guest sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsGrant {
    /// The absolute path the guest sees it at.
    pub mount: String,
    /// What stands behind it.
    pub source: FsSource,
    /// What it may do there.
    pub access: Access,
}

/// What stands behind a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FsSource {
    /// The session's workspace.
    Workspace,
    /// An empty directory, gone after the call.
    Scratch,
    /// The bundle's own files.
    Bundle,
    /// A directory of the host, by the name that the operator's rules give it.
    Host(String),
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

/// What a guest may do in a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Read.
    #[serde(rename = "ro")]
    ReadOnly,
    /// Read and change.
    #[serde(rename = "rw")]
    ReadWrite,
}

impl Grants {
    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.fs.is_empty() && self.http.is_empty() && self.models.is_empty()
    }

    /// Whether there is nothing here that a ceiling does not have too.
    pub fn is_within(&self, ceiling: &Grants) -> bool {
        self.fs.iter().all(|grant| ceiling.fs.iter().any(|most| grant.is_within(most)))
            && self.http.iter().all(|grant| ceiling.http.iter().any(|most| grant.is_within(most)))
            && self.models.iter().all(|name| ceiling.allows_model(name))
    }

    /// Whether a model is one of those that may be asked.
    pub fn allows_model(&self, name: &str) -> bool {
        self.models.iter().any(|granted| granted == name || granted == ANY_MODEL)
    }

    /// The grants as operators allow them: `fs:workspace:ro`, `http:api.example.com:GET`, `model:fast`; each once.
    pub fn describe(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.fs.iter().map(FsGrant::describe).collect();
        lines.extend(self.http.iter().flat_map(HttpGrant::describe));
        lines.extend(self.models.iter().map(|name| format!("model:{name}")));
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Whether anything outside of the instance can be changed with them.
    pub fn can_write(&self) -> bool {
        self.fs.iter().any(|grant| grant.access == Access::ReadWrite)
            || self.http.iter().any(HttpGrant::can_write)
    }

    /// Whether calls with these and those grants must not overlap (journal.md R4): both see a directory that outlasts a
    /// call, and one of them may change it.
    pub fn conflicts_with(&self, other: &Grants) -> bool {
        self.fs.iter().any(|grant| other.fs.iter().any(|other| grant.conflicts_with(other)))
    }
}

impl FsGrant {
    fn conflicts_with(&self, other: &FsGrant) -> bool {
        let outlasts_a_call = matches!(self.source, FsSource::Workspace | FsSource::Host(_));
        let may_change = self.access.max(other.access) == Access::ReadWrite;
        outlasts_a_call && may_change && self.source == other.source
    }

    /// Whether it is the same directory at the same place, and no more may be done there.
    pub fn is_within(&self, ceiling: &FsGrant) -> bool {
        self.mount == ceiling.mount && self.source == ceiling.source && self.access <= ceiling.access
    }

    /// As operators allow it: `fs:workspace:ro`.
    pub fn describe(&self) -> String {
        format!("fs:{}:{}", self.source, self.access.as_str())
    }
}

impl Access {
    /// The word in manifests and rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Access::ReadOnly => "ro",
            Access::ReadWrite => "rw",
        }
    }
}

impl HttpGrant {
    /// Whether it reaches no other hosts, with the same secret, and nothing more may be done there.
    pub fn is_within(&self, ceiling: &HttpGrant) -> bool {
        self.scheme == ceiling.scheme
            && host_is_within(&self.host, &ceiling.host)
            && self.secret == ceiling.secret
            && self.honours_key <= ceiling.honours_key
            && self.methods.iter().all(|method| ceiling.methods.contains(method))
    }

    /// As operators allow it, a method each: `http:api.example.com:GET`. Clear text stands out.
    pub fn describe(&self) -> Vec<String> {
        let scheme = match self.scheme {
            Scheme::Https => "",
            Scheme::Http => "http://",
        };
        self.methods.iter().map(|method| format!("http:{scheme}{}:{method}", self.host)).collect()
    }

    /// Whether a request that it allows can change something: one that is no reading, or one that acts in
    /// somebody's name.
    pub fn can_write(&self) -> bool {
        self.secret.is_some() || self.methods.iter().any(|method| method != "GET" && method != "HEAD")
    }
}

impl Scheme {
    /// As URLs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
        }
    }

    /// The port that URLs without one mean.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Https => 443,
            Scheme::Http => 80,
        }
    }
}

/// Headers that say where a request goes, where it ends, who else may see it, or in which form the response comes:
/// a secret in one of these could leave by it, or come back unseen.
const NOT_FOR_SECRETS: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "idempotency-key",
    "if-range",
    "keep-alive",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a secret may go into a header. The name is a token (RFC 9110, 5.6.2); case does not matter.
pub fn can_carry_secret(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    !NOT_FOR_SECRETS.contains(&header.as_str()) && !header.starts_with("proxy-")
}

/// Whether every host of one pattern is a host of another: `api.example.com` of `*.example.com`. An address is
/// within itself alone: a grant of one reaches it wherever it is, and `*` means what is of the internet.
pub fn host_is_within(host: &str, ceiling: &str) -> bool {
    let ((host, port), (ceiling, ceiling_port)) = (split_port(host), split_port(ceiling));
    let is_below = ceiling.strip_prefix('*').is_some_and(|domain| {
        domain.is_empty() || (domain.starts_with('.') && host.len() > domain.len() && host.ends_with(domain))
    });
    port == ceiling_port && (host == ceiling || is_below && !is_address(host))
}

fn is_address(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).parse::<IpAddr>().is_ok()
}

fn split_port(pattern: &str) -> (&str, Option<&str>) {
    match pattern.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (pattern, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_within_patterns_of_the_same_port() {
        for (host, ceiling, expected) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com", "*.example.com", true),
            ("*.a.example.com", "*.example.com", true),
            ("example.com", "*.example.com", false),
            ("*.example.com", "api.example.com", false),
            ("evilexample.com", "*.example.com", false),
            ("api.example.com", "*", true),
            ("*", "*.example.com", false),
            ("api.example.com:8443", "api.example.com", false),
            ("api.example.com:8443", "*:8443", true),
            ("[::1]:80", "[::1]:80", true),
            ("[::1]", "[::1]:80", false),
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "*:80", false),
            ("[::1]", "*", false),
            ("8.8.8.8", "*", false),
            ("127.0.0.1", "*.0.0.1", false),
            ("*", "127.0.0.1", false),
            (".example.com", "*.example.com", false),
            ("2001:db8::80", "*:80", false),
        ] {
            assert_eq!(host_is_within(host, ceiling), expected, "{host} in {ceiling}");
        }
    }

    #[test]
    fn grants_are_within_a_ceiling_that_has_all_of_them() {
        let fs = |access| FsGrant { mount: "/w".into(), source: FsSource::Workspace, access };
        let grants = |access| Grants { fs: vec![fs(access)], ..Grants::default() };
        let (ro, rw) = (grants(Access::ReadOnly), grants(Access::ReadWrite));
        assert!(ro.is_within(&rw) && !rw.is_within(&ro) && Grants::default().is_within(&ro));
        assert!(!ro.is_within(&Grants::default()));
        let secret = || SecretGrant { config: "k".into(), header: "H".into(), format: "{}".into() };
        let http = |methods: &[&str], secret: Option<SecretGrant>| HttpGrant {
            scheme: Scheme::Https,
            host: "a.b".into(),
            methods: methods.iter().map(|method| (*method).to_owned()).collect(),
            honours_key: false,
            secret,
        };
        let all = http(&["GET", "PUT"], Some(secret()));
        assert!(http(&["GET"], Some(secret())).is_within(&all));
        assert!(!http(&["POST"], Some(secret())).is_within(&all));
        assert!(!all.is_within(&http(&["GET", "PUT"], None)));
        assert!(!HttpGrant { scheme: Scheme::Http, ..all.clone() }.is_within(&all));
        let both = Grants { fs: vec![fs(Access::ReadOnly)], http: vec![all], models: vec!["fast".into()] };
        assert_eq!(both.describe(), ["fs:workspace:ro", "http:a.b:GET", "http:a.b:PUT", "model:fast"]);
    }

    #[test]
    fn a_model_is_granted_by_its_name_or_with_any() {
        let models = |names: &[&str]| Grants {
            models: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Grants::default()
        };
        let (one, any) = (models(&["fast"]), models(&["*"]));
        assert!(one.allows_model("fast") && !one.allows_model("fas") && !one.allows_model("*"));
        assert!(any.allows_model("fast") && !Grants::default().allows_model("fast"));
        assert!(one.is_within(&any) && !any.is_within(&one) && !models(&["fast", "big"]).is_within(&one));
        assert!(!one.is_empty() && !one.can_write());
    }
}
