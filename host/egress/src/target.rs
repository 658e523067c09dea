//! Where a request goes: reading its URL, and finding the grant that lets it go there. One reading for both,
//! so that what was checked is what is connected to.

use std::net::IpAddr;

use rewake_core::grant::{HttpGrant, Scheme};
use rewake_core::limits::cut;
use url::{Host, Position, Url};

use super::limits::{URL_BYTES_MAX, URL_SHOWN_BYTES_MAX};
use rewake_core::grant::HostPattern;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// What lets a request go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permit<'a> {
    pub(crate) grant: &'a HttpGrant,
    /// The host is an address, and the grant names that very address: it may be anybody's.
    pub(crate) is_of_address: bool,
}

/// Grants that a denial names; of more, it says how many.
const NAMED_MAX: usize = 8;

/// What there is instead, for anyone who was denied something else.
fn what_is_granted(grants: &[HttpGrant]) -> String {
    if grants.is_empty() {
        return "No request is granted".to_owned();
    }
    let named = grants.iter().take(NAMED_MAX);
    let named = named.map(|grant| {
        format!("{}://{} ({})", grant.scheme.as_str(), cut(&grant.host, 260), grant.methods.join(", "))
    });
    let named: Vec<String> = named.collect();
    match grants.len() - named.len() {
        0 => format!("Granted: {}", named.join(", ")),
        more => format!("Granted: {}, and {more} more", named.join(", ")),
    }
}

/// Whether a URL is short enough.
pub(super) fn bounded(url: &str) -> Result<(), String> {
    if url.len() > URL_BYTES_MAX {
        return Err(format!("the URL has {} bytes; at most {URL_BYTES_MAX} are taken", url.len()));
    }
    Ok(())
}

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it, for who wrote it.
    pub(crate) fn parse(text: &str) -> Result<Target, String> {
        bounded(text)?;
        let shown = cut(text, URL_SHOWN_BYTES_MAX);
        let url = Url::parse(text).map_err(|error| format!("{shown:?} is no URL: {error}"))?;
        Target::of(url)
    }

    /// Where a redirect of this request goes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn join(&self, location: &str) -> Result<Target, String> {
        let shown = cut(location, URL_SHOWN_BYTES_MAX);
        bounded(location)?;
        let url = self.url.join(location).map_err(|error| format!("{shown:?} is no URL: {error}"))?;
        Target::of(url)
    }

    fn of(mut url: Url) -> Result<Target, String> {
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            other => return Err(format!("the scheme {:?} is not HTTP's", cut(other, 32))),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a URL with a user's name or password is not taken: use a header".into());
        }
        let Some(host) = url.host().map(|host| host.to_owned()) else {
            return Err("the URL names no host".into());
        };
        // Where a name with a dot at its end leads is the same place; a grant is written without.
        if let Host::Domain(name) = &host
            && name.ends_with('.')
        {
            return Err(format!("write the host {:?} without the dot at its end", cut(name, 253)));
        }
        let port = url.port().unwrap_or(scheme.default_port());
        if port == 0 {
            return Err("nothing is at port 0".into());
        }
        url.set_fragment(None);
        // As it is sent, where what is no character of a URL takes three bytes for one.
        bounded(url.as_str())?;
        Ok(Target { url, scheme, host, port })
    }

    /// The address that the host is written as, if it is.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        }
    }

    /// The host and, if it is not the scheme's own, the port: what the `Host` header says.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// What the request line asks for.
    pub(crate) fn path(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// Whether it is the same scheme, host and port: what is meant for one is not for another.
    pub(crate) fn is_same_origin(&self, other: &Target) -> bool {
        self.scheme == other.scheme && self.host == other.host && self.port == other.port
    }

    /// The first grant that lets a method go there.
    ///
    /// # Errors
    /// That none does, and what to ask for.
    pub(crate) fn permit<'a>(&self, grants: &'a [HttpGrant], method: &str) -> Result<Permit<'a>, String> {
        let there = grants.iter().filter_map(|grant| self.matched(grant));
        let mut others = Vec::new();
        for permit in there {
            if permit.grant.methods.iter().any(|granted| granted == method) {
                return Ok(permit);
            }
            others.extend(permit.grant.methods.iter().cloned());
        }
        let method = cut(method, 16);
        if !others.is_empty() {
            let (origin, others) = (self.origin(), others.join(", "));
            return Err(format!(
                "{method} to {origin} is not granted, only {others}: {}",
                self.what_to_ask(&method)
            ));
        }
        let (origin, granted) = (self.origin(), what_is_granted(grants));
        Err(format!("{origin} is not granted: {}. {granted}", self.what_to_ask(&method)))
    }

    fn what_to_ask(&self, method: &str) -> String {
        let scheme = match self.scheme {
            Scheme::Https => "",
            Scheme::Http => ", scheme = \"http\"",
        };
        let host = self.authority();
        format!(
            "the component's manifest must ask for it, http = [{{ host = \"{host}\", methods = [\"{method}\"]{scheme} }}], and the operator must allow it"
        )
    }

    fn matched<'a>(&self, grant: &'a HttpGrant) -> Option<Permit<'a>> {
        if grant.scheme != self.scheme {
            return None;
        }
        let pattern = HostPattern::parse(&grant.host).ok()?;
        let default_port = self.scheme.default_port();
        match (self.address(), pattern.address()) {
            (Some(address), Some(granted)) => {
                let is_of_address = address == granted && pattern.matches_port(self.port, default_port);
                is_of_address.then_some(Permit { grant, is_of_address })
            }
            // A name is not an address, whatever it resolves to; `*` means names and addresses.
            (None, Some(_)) => None,
            _ => {
                let matches = pattern.matches(&self.host.to_string(), self.port, default_port);
                matches.then_some(Permit { grant, is_of_address: false })
            }
        }
    }

    /// The scheme, host and port, as they are shown.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.scheme.as_str(), cut(&self.authority(), 260))
    }
}
