//! Effective grants: what a manifest asks for, what the operator's rules leave of it, and what to say of
//! the rest. The same function decides at creation, over what is asked, and at every load, over what was
//! pinned. Knows no guest and opens nothing.

use std::collections::BTreeMap;

use rewake_core::decide::InForce;
use rewake_core::fact::{BundlePin, ComponentPin, Created, GrantsWhy, PluginKind};
use rewake_core::grant::{ANY_MODEL, FsGrant, FsSource, Grants, HttpGrant, host_is_within};
use rewake_core::ids::Digest;

use crate::config::{AllowedAsk, Rules};
use rewake_bundle::{Asks, Bundle, Component};

/// Something that a component asks for, as a person is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The bundle.
    pub bundle: String,
    /// Its digest.
    pub digest: Digest,
    /// The component's name in it.
    pub component: String,
    /// As rules allow it: `fs:workspace:ro`.
    pub ask: String,
    /// In words: `read the session's workspace, as /workspace`.
    pub words: String,
    /// The author's reason.
    pub why: Option<String>,
    /// Whether it is granted.
    pub is_granted: bool,
    /// The rules name the bundle: what they leave out is refused, and no person at a terminal is asked.
    pub is_ruled: bool,
}

/// The bundles of a session that this machine's trust key vouches for, with who approved; empty: the operator's rules
/// did, when the session was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vouched(pub BTreeMap<Digest, String>);

impl Vouched {
    /// Who approved, of this machine; none: the rules decide, or an approval from elsewhere, which counts as not given.
    pub fn approver(&self, digest: &Digest) -> Option<&str> {
        self.0.get(digest).map(String::as_str).filter(|by| !by.is_empty())
    }

    /// Whether this machine pinned what the session says of the bundle.
    pub fn covers(&self, digest: &Digest) -> bool {
        self.0.contains_key(digest)
    }
}

/// What a manifest asks for, as grants.
pub fn asked(asks: &Asks) -> Grants {
    let fs = asks.fs.iter().map(|ask| FsGrant {
        mount: ask.mount.clone(),
        source: ask.source.clone(),
        access: ask.access,
    });
    let http = asks.http.iter().filter_map(|ask| ask.grant(|_| true));
    let models = asks.models.iter().map(|ask| ask.name.clone());
    Grants { fs: fs.collect(), http: http.collect(), models: models.collect() }
}

/// What the rules of now leave of a ceiling. Where they name the bundle and its digest, they decide; where
/// they do not, a person's approval of this session does, and without one nothing is granted.
pub fn in_force(rules: &Rules, bundle: &str, digest: &Digest, approved: bool, most: &Grants) -> Grants {
    let mut grants = match rules.allowed(bundle, digest) {
        Some(allowed) => Grants {
            fs: most.fs.iter().filter_map(|grant| allowed_fs(grant, &allowed)).collect(),
            http: most.http.iter().flat_map(|grant| allowed_http(grant, &allowed)).collect(),
            models: allowed_models(&most.models, &allowed),
        },
        None if approved => most.clone(),
        None => Grants::default(),
    };
    // A directory of the host is there only while the rules name it, anyone who approved what.
    grants.fs.retain_mut(|grant| match &grant.source {
        FsSource::Host(name) => match rules.dirs.get(name) {
            Some(dir) => {
                grant.access = grant.access.min(dir.access);
                true
            }
            None => false,
        },
        FsSource::Workspace | FsSource::Scratch | FsSource::Bundle => true,
    });
    grants
}

fn allowed_fs(grant: &FsGrant, allowed: &[&AllowedAsk]) -> Option<FsGrant> {
    let most = allowed.iter().filter_map(|one| match one {
        AllowedAsk::Fs(source, access) if *source == grant.source => Some(*access),
        _ => None,
    });
    Some(FsGrant { access: grant.access.min(most.max()?), ..grant.clone() })
}

/// The narrower of what is asked and what is allowed, for each thing that is allowed.
fn allowed_http(grant: &HttpGrant, allowed: &[&AllowedAsk]) -> Vec<HttpGrant> {
    let mut grants: Vec<HttpGrant> = Vec::new();
    for one in allowed {
        let AllowedAsk::Http(scheme, host, method) = one else { continue };
        let host = host.to_string();
        if *scheme != grant.scheme || !grant.methods.contains(method) {
            continue;
        }
        let host = if host_is_within(&grant.host, &host) {
            grant.host.clone()
        } else if host_is_within(&host, &grant.host) {
            host
        } else {
            continue;
        };
        match grants.iter_mut().find(|other| other.host == host) {
            Some(other) if other.methods.contains(method) => {}
            Some(other) => other.methods.push(method.clone()),
            None => grants.push(HttpGrant { host, methods: vec![method.clone()], ..grant.clone() }),
        }
    }
    grants
}

/// The narrower of the models that are asked for and those that are allowed, each once.
fn allowed_models(most: &[String], allowed: &[&AllowedAsk]) -> Vec<String> {
    let asked = |name: &str| most.iter().any(|asked| asked == name);
    let mut models: Vec<String> = Vec::new();
    for one in allowed {
        let AllowedAsk::Model(name) = one else { continue };
        let granted = match name.as_str() {
            ANY_MODEL => most.to_vec(),
            _ if asked(name) || asked(ANY_MODEL) => vec![name.clone()],
            _ => Vec::new(),
        };
        let new: Vec<String> = granted.into_iter().filter(|name| !models.contains(name)).collect();
        models.extend(new);
    }
    models
}

/// What each component of a session may use now: its pins, as far as the rules of now leave them, or an approval
/// that this machine vouches for.
pub fn of_session(rules: &Rules, created: &Created, vouched: &Vouched) -> Vec<InForce> {
    let grants = created.components.iter().map(|component| {
        let Some(pin) = bundle_of(created, component) else {
            return InForce { grants: Grants::default(), why: GrantsWhy::Rules, by: None };
        };
        let approver = vouched.approver(&pin.digest);
        let grants = in_force(rules, &pin.name, &pin.digest, approver.is_some(), &component.grants);
        let (why, by) = match (rules.allowed(&pin.name, &pin.digest), approver) {
            (Some(_), _) => (GrantsWhy::Rules, None),
            (None, Some(by)) => (GrantsWhy::Approved, Some(by.to_owned())),
            (None, None) if pin.approved_by.is_some() => (GrantsWhy::Unvouched, None),
            (None, None) => (GrantsWhy::Rules, None),
        };
        InForce { grants, why, by }
    });
    grants.collect()
}

/// The bundles of a session whose pinned grants need an approval of this machine: no rule names them, and its trust
/// key does not vouch for them.
pub fn unvouched<'a>(rules: &Rules, created: &'a Created, vouched: &Vouched) -> Vec<&'a BundlePin> {
    let has_grants = |pin: &BundlePin| {
        created
            .components
            .iter()
            .any(|component| component.bundle == pin.name && !component.grants.is_empty())
    };
    let bundles = created.bundles.iter().filter(|pin| {
        has_grants(pin)
            && rules.allowed(&pin.name, &pin.digest).is_none()
            && vouched.approver(&pin.digest).is_none()
    });
    bundles.collect()
}

/// What the pins of a session grant to a bundle, as vouchers cover it.
pub fn pinned(created: &Created, pin: &BundlePin) -> Vec<u8> {
    let of_bundle = created.components.iter().filter(|component| component.bundle == pin.name);
    let grants: Vec<_> = of_bundle.map(|component| (&component.name, &component.grants)).collect();
    serde_json::to_vec(&grants).unwrap_or_default()
}

/// The pins, with what tools and hooks may use now. A harness keeps what was pinned: what is recorded of it
/// was done with that, and its live calls are checked one by one.
pub fn narrow(mut created: Created, now: &[InForce]) -> Created {
    for (component, now) in created.components.iter_mut().zip(now) {
        if component.kind != PluginKind::Harness {
            component.grants.clone_from(&now.grants);
        }
    }
    created
}

/// Why the pins of a component are not what this bundle of its digest declares; none, if they are. A journal from
/// elsewhere can pin anything under the name and digest of a bundle that rules allow.
pub fn foreign_pin(bundle: &Bundle, pin: &ComponentPin) -> Option<String> {
    let found =
        bundle.component(&pin.name).filter(|found| found.kind() == pin.kind && found.digest == pin.digest);
    let Some(found) = found else {
        return Some(format!("bundle {} has no such component {}", bundle.name(), pin.name));
    };
    let asks = asked(&found.declared.asks);
    (!pin.grants.is_within(&asks) || !pin.asks.is_within(&asks))
        .then(|| format!("{} was pinned with grants that its manifest does not ask for", pin.full_name()))
}

fn bundle_of<'a>(created: &'a Created, component: &ComponentPin) -> Option<&'a BundlePin> {
    created.bundles.iter().find(|pin| pin.name == component.bundle)
}

/// What a component asks for, a line each, with the author's reasons and what is granted of it.
pub fn asked_of(rules: &Rules, bundle: &Bundle, component: &Component, granted: &Grants) -> Vec<Asked> {
    let asks = &component.declared.asks;
    let is_ruled = rules.allowed(bundle.name().as_str(), &bundle.digest()).is_some();
    let one = |ask: String, words: String, why: &Option<String>, is_granted: bool| Asked {
        bundle: bundle.name().as_str().to_owned(),
        digest: bundle.digest(),
        component: component.name().to_owned(),
        ask,
        words,
        why: why.clone(),
        is_granted,
        is_ruled,
    };
    let all = asked(asks);
    let mut lines: Vec<Asked> = all
        .fs
        .iter()
        .zip(&asks.fs)
        .map(|(grant, ask)| one(grant.describe(), fs_words(grant), &ask.why, granted.fs.contains(grant)))
        .collect();
    for (grant, ask) in all.http.iter().zip(&asks.http) {
        for (line, method) in grant.describe().into_iter().zip(&grant.methods) {
            let is_granted = granted.http.iter().any(|got| {
                got.scheme == grant.scheme && got.host == grant.host && got.methods.contains(method)
            });
            lines.push(one(line, http_words(grant, method), &ask.why, is_granted));
        }
    }
    for ask in &asks.models {
        let line = format!("model:{}", ask.name);
        lines.push(one(line, model_words(&ask.name), &ask.why, granted.models.contains(&ask.name)));
    }
    lines
}

/// The same of a bundle that no session runs yet: what the rules alone would leave of it.
pub fn would_get(rules: &Rules, bundle: &Bundle, component: &Component) -> Vec<Asked> {
    let asks = asked(&component.declared.asks);
    let granted = in_force(rules, bundle.name().as_str(), &bundle.digest(), false, &asks);
    asked_of(rules, bundle, component, &granted)
}

fn fs_words(grant: &FsGrant) -> String {
    let what = match &grant.source {
        FsSource::Workspace => "the session's workspace".to_owned(),
        FsSource::Scratch => "an empty directory that is gone after the call".to_owned(),
        FsSource::Bundle => "the bundle's own files".to_owned(),
        FsSource::Host(name) => format!("the directory {name:?} of this machine ([dirs] in rewake.toml)"),
    };
    let may = match grant.access {
        rewake_core::grant::Access::ReadOnly => "read",
        rewake_core::grant::Access::ReadWrite => "read and change",
    };
    format!("{may} {what}, as {}", grant.mount)
}

fn http_words(grant: &HttpGrant, method: &str) -> String {
    let clear = if grant.scheme == rewake_core::grant::Scheme::Http { ", in clear text" } else { "" };
    let secret = match &grant.secret {
        Some(secret) => format!(", with the secret {:?} in the header {}", secret.config, secret.header),
        None => String::new(),
    };
    let host = if grant.host == "*" { "any public host" } else { &grant.host };
    format!("send {method} requests to {host}{clear}{secret}")
}

fn model_words(name: &str) -> String {
    let which = match name {
        ANY_MODEL => "any model of rewake.toml".to_owned(),
        name => format!("the model {name:?}"),
    };
    format!("call {which}, whatever the session's model is")
}

/// What a component asks for and may not use, as rules would allow it.
pub(crate) fn withheld(component: &ComponentPin) -> Vec<String> {
    let granted = component.grants.describe();
    component.asks.describe().into_iter().filter(|ask| !granted.contains(ask)).collect()
}

/// The lines that would allow it.
pub fn lines_to_allow(bundle: &str, digest: &Digest, asks: &[String]) -> String {
    let asks: Vec<String> = asks.iter().map(|ask| format!("{ask:?}")).collect();
    format!("[[allow]]\nbundle = {bundle:?}\ndigest = \"blake3:{digest}\"\nasks = [{}]", asks.join(", "))
}

/// What a failed call is told of what it asked for and was not granted: in the words of the model's tool
/// result, with how it is approved again if only that is missing, and as the rules would allow it. None, if nothing was withheld that its failure speaks of.
pub fn denied(
    created: &Created,
    component: &ComponentPin,
    failure: &str,
    approve_again: Option<String>,
) -> Option<(String, Vec<String>)> {
    let withheld = withheld(component);
    if withheld.is_empty() || !speaks_of_absence(component, failure) {
        return None;
    }
    let digest = bundle_of(created, component).map(|pin| pin.digest.to_string()).unwrap_or_default();
    let allow = || {
        format!(
            "An operator can allow it in rewake.toml: [[allow]] with bundle = {:?}, digest = \"blake3:{digest}\"",
            component.bundle
        )
    };
    let words = format!(
        "rewake: {} asks for {} and was not granted it. {}",
        component.full_name(),
        withheld.join(", "),
        approve_again.unwrap_or_else(allow),
    );
    Some((words, withheld))
}

/// Whether a failure is one that a missing grant causes: it names a mount that was asked for, or says that
/// there is no such file, or that it may not be written.
fn speaks_of_absence(component: &ComponentPin, failure: &str) -> bool {
    const WORDS: [&str; 6] =
        ["no such file", "not found", "no preopen", "not granted", "not permitted", "read-only"];
    let mounts = component.asks.fs.iter().map(|ask| ask.mount.as_str()).filter(|mount| *mount != "/");
    let text = failure.to_lowercase();
    WORDS.iter().any(|word| text.contains(word)) || mounts.into_iter().any(|mount| failure.contains(mount))
}
