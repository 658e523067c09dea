//! What a component asks for: mounts, HTTP hosts and models. Asks, never grants: what a session gives is
//! decided elsewhere.
//!
//! Knows how an ask is written and what it could reach. Does not know operators or addresses.

use rewake_core::grant::{
    ANY_MODEL, Access, FsSource, HostPattern, HttpGrant, Scheme, SecretGrant, can_carry_secret,
};
use rewake_core::limits::MODEL_NAME_BYTES_MAX;
use serde_spanned::Spanned;

use super::matcher::GrantKind;
use rewake_toml::{Invalid, quote, quote_all};

/// What a component asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Directories.
    pub fs: Vec<FsAsk>,
    /// Hosts.
    pub http: Vec<HttpAsk>,
    /// Models beside the session's own, for harnesses.
    pub models: Vec<ModelAsk>,
}

/// A model that a harness asks to use beside the session's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAsk {
    /// Its name in the operator's rules; [`ANY_MODEL`]: each of them.
    pub name: String,
    /// The author's reason, shown to who grants it.
    pub why: Option<String>,
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

    /// The asks as they are shown and allowed: `fs:workspace:ro`, `http:api.example.com:GET`, `model:fast`.
    pub fn describe(&self) -> Vec<String> {
        let fs = self.fs.iter().map(|ask| match ask.access {
            Access::ReadOnly => format!("fs:{}:ro", ask.source),
            Access::ReadWrite => format!("fs:{}:rw", ask.source),
        });
        let http = self.http.iter().flat_map(|ask| ask.methods.iter().map(|method| ask.line(method)));
        let models = self.models.iter().map(|ask| format!("model:{}", ask.name));
        let mut asks: Vec<String> = fs.chain(http).chain(models).collect();
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

/// Reads a mount's source as a file says it.
///
/// # Errors
/// If it is none of the four forms.
pub fn fs_source(text: &str) -> Result<FsSource, Invalid> {
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

/// Reads a host as a file says it.
///
/// # Errors
/// If it is a URL, has a path, or is no host.
pub fn host(text: &str) -> Result<HostPattern, Invalid> {
    HostPattern::parse(text).map_err(|why| {
        Invalid::new(format!("{} {why}", quote(text)))
            .help("write a host alone, such as \"api.example.com\", \"*.example.com\" or \"localhost:8080\"")
    })
}

/// Reads a method as a file says it.
///
/// # Errors
/// If it is not one that can be asked for.
pub fn method(text: &str) -> Result<String, Invalid> {
    if METHODS.contains(&text) {
        return Ok(text.to_owned());
    }
    let help = match METHODS.iter().find(|method| method.eq_ignore_ascii_case(text)) {
        Some(method) => format!("write \"{method}\""),
        None => format!("it is one of {}", quote_all(METHODS)),
    };
    Err(Invalid::new(format!("{} is not a method that can be asked for", quote(text))).help(help))
}

/// Reads a model's name as a file says it.
///
/// # Errors
/// If it is empty, too long, or has spaces or characters that cannot be seen.
pub fn model_name(text: &str) -> Result<String, Invalid> {
    let visible = |c: char| !c.is_whitespace() && !c.is_control();
    let is_name = !text.is_empty() && text.len() <= MODEL_NAME_BYTES_MAX && text.chars().all(visible);
    if is_name && (text == ANY_MODEL || !text.contains('*')) {
        return Ok(text.to_owned());
    }
    let help = "write the name of a [models.NAME] of rewake.toml, such as \"fast\", or \"*\" for any of them";
    Err(Invalid::new(format!("{} is not the name of a model", quote(text))).help(help))
}

/// A header's name that a secret may go into: not one that frames or routes the request.
pub(super) fn secret_header(text: &str) -> Result<String, Invalid> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.is_empty() || !text.bytes().all(token) {
        return Err(Invalid::new(format!("{} is not a header's name", quote(text)))
            .help("write a name such as \"Authorization\""));
    }
    if !can_carry_secret(text) {
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
