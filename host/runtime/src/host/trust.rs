//! What the trust key of this machine vouches for of a session, and approving a session again. Nothing that a journal
//! says of approvals counts without its voucher (ADR 18).

use std::collections::BTreeMap;

use rewake_bundle::Bundle;
use rewake_core::fact::{BundlePin, Created, GrantsWhy};
use rewake_core::ids::{Digest, SessionId};
use rewake_policy::config::RulesFile;
use rewake_policy::grants::{self, Vouched};
use rewake_policy::trust::{Approved, TrustKey};
use rewake_store::{Store, StoreError, Voucher};

use super::{Host, HostError};
use crate::driver::corrupt_fault;
use crate::load::{self, Unreadable};

/// What is granted to a session on this machine, bundle by bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The bundles that have grants, with who approved them; none: the operator's rules.
    pub in_force: Vec<(String, Option<String>)>,
    /// Those whose pinned grants are not in force, because this machine has not approved them.
    pub unvouched: Vec<Unvouched>,
}

/// A bundle of a session whose pinned grants are not in force here, because this machine has not approved them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unvouched {
    /// Its name.
    pub bundle: String,
    /// Its digest.
    pub digest: Digest,
    /// Who approved, as the journal says.
    pub approved_by: Option<String>,
    /// What was granted, by component, as rules would allow it.
    pub grants: Vec<(String, Vec<String>)>,
}

/// What is granted to a session on this machine. Changes nothing.
///
/// # Errors
/// If the session, the rules or the trust key cannot be read.
pub async fn granted(store: &dyn Store, file: &RulesFile, id: &SessionId) -> Result<Granted, HostError> {
    let rules = file.read().map_err(HostError::Rules)?;
    let (created, entry) = pinned(store, id).await?;
    let vouched = vouched(store, &file.trust(&rules), id, &entry, &created).await?;
    let now = grants::of_session(&rules, &created, &vouched);
    let mut in_force: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for (component, now) in created.components.iter().zip(now) {
        if !now.grants.is_empty() && now.why != GrantsWhy::Unvouched {
            in_force.insert(&component.bundle, now.by);
        }
    }
    let in_force = in_force.into_iter().map(|(bundle, by)| (bundle.to_owned(), by)).collect();
    let unvouched = grants::unvouched(&rules, &created, &vouched).into_iter();
    Ok(Granted { in_force, unvouched: unvouched.map(|pin| described(&created, pin)).collect() })
}

/// The bundles of a session that this machine vouches for.
pub(super) async fn vouched(
    store: &dyn Store,
    trust: &TrustKey,
    id: &SessionId,
    entry: &Digest,
    created: &Created,
) -> Result<Vouched, HostError> {
    if !created.bundles.iter().any(|pin| has_grants(created, pin)) {
        return Ok(Vouched::default());
    }
    let Some(key) = trust.read().map_err(HostError::Rules)? else { return Ok(Vouched::default()) };
    let kept = store.vouchers(id).await?;
    let mut vouched: BTreeMap<Digest, String> = BTreeMap::new();
    for pin in &created.bundles {
        let grants = grants::pinned(created, pin);
        for voucher in kept.iter().filter(|voucher| voucher.bundle == pin.digest) {
            let approved =
                Approved { session: id, entry, bundle: &pin.digest, grants: &grants, by: &voucher.by };
            if key.has_vouched(&approved, &voucher.mac) {
                // An operator's approval goes further than that the rules allowed it once.
                let by = vouched.entry(pin.digest).or_default();
                if by.is_empty() {
                    by.clone_from(&voucher.by);
                }
            }
        }
    }
    Ok(Vouched(vouched))
}

/// Vouches for what is granted to bundles of a session, each with who approves. Without any, needs no key.
fn vouch(
    trust: &TrustKey,
    id: &SessionId,
    entry: &Digest,
    created: &Created,
    bundles: &[(&BundlePin, &str)],
) -> Result<Vec<Voucher>, HostError> {
    if bundles.is_empty() {
        return Ok(Vec::new());
    }
    let key = trust.read_or_make().map_err(HostError::Rules)?;
    let voucher = |(pin, by): &(&BundlePin, &str)| {
        let grants = grants::pinned(created, pin);
        let mac = key.vouch(&Approved { session: id, entry, bundle: &pin.digest, grants: &grants, by });
        Voucher { bundle: pin.digest, by: (*by).to_owned(), mac }
    };
    Ok(bundles.iter().map(voucher).collect())
}

/// Vouches for what a session that is being created grants to its bundles.
pub(super) fn vouch_for(
    trust: &TrustKey,
    id: &SessionId,
    entry: &Digest,
    created: &Created,
) -> Result<Vec<Voucher>, HostError> {
    let granted = created.bundles.iter().filter(|pin| has_grants(created, pin));
    let bundles: Vec<_> = granted.map(|pin| (pin, pin.approved_by.as_deref().unwrap_or_default())).collect();
    vouch(trust, id, entry, created, &bundles)
}

impl Host {
    /// What is granted to a session on this machine.
    ///
    /// # Errors
    /// As [`granted`].
    pub async fn granted(&self, id: &SessionId) -> Result<Granted, HostError> {
        granted(self.0.store.as_ref(), &self.0.rules, id).await
    }

    /// Approves, on this machine and for one session, what was granted to its bundles when it was created: to those
    /// with these digests, or to all. What rules decide stays theirs. Holds from the next load on.
    ///
    /// # Errors
    /// If the session cannot be read, a pin is not what its bundle declares, or the voucher cannot be kept.
    pub async fn approve(
        &self,
        id: &SessionId,
        digests: Option<&[Digest]>,
        by: &str,
    ) -> Result<(), HostError> {
        let rules = self.rules()?;
        let trust = self.0.rules.trust(&rules);
        let (created, entry) = pinned(self.0.store.as_ref(), id).await?;
        let vouched = vouched(self.0.store.as_ref(), &trust, id, &entry, &created).await?;
        let mut pins = grants::unvouched(&rules, &created, &vouched);
        pins.retain(|pin| digests.is_none_or(|digests| digests.contains(&pin.digest)));
        for pin in &pins {
            self.check_pins(&created, pin).await?;
        }
        let bundles: Vec<_> = pins.into_iter().map(|pin| (pin, by)).collect();
        let vouchers = vouch(&trust, id, &entry, &created, &bundles)?;
        Ok(self.0.store.vouch(id, vouchers).await?)
    }

    /// Checks that what a session pins of a bundle is what the bundle with that digest declares.
    pub(super) async fn check_pins(&self, created: &Created, pin: &BundlePin) -> Result<Bundle, HostError> {
        let bundle = self.pinned_bundle(pin).await?;
        let mut used = created.components.iter().filter(|component| component.bundle == pin.name);
        match used.find_map(|component| grants::foreign_pin(&bundle, component)) {
            Some(why) => Err(HostError::Machine(why)),
            None => Ok(bundle),
        }
    }

    /// A bundle that a session is pinned to, as the store keeps it. Its digest is computed again: what is in the store
    /// under a digest may come from elsewhere.
    pub(super) async fn pinned_bundle(&self, pin: &BundlePin) -> Result<Bundle, HostError> {
        let label = format!("bundle {} {} ({})", pin.name, pin.version, pin.digest);
        let Some(kept) = self.0.store.bundle(&pin.digest).await? else {
            return Err(HostError::Machine(format!("{label} is not in this store")));
        };
        let files = kept.files.into_iter().map(|(path, bytes)| (path, bytes.into())).collect();
        let why = match Bundle::from_files(files) {
            Ok(bundle) if bundle.digest() == pin.digest && bundle.name().as_str() == pin.name => {
                return Ok(bundle);
            }
            Ok(other) => format!("its content is that of {} ({})", other.name(), other.digest()),
            Err(error) => error.to_string(),
        };
        let what = format!("{label} is damaged in this store; take the data folder from a copy: {why}");
        Err(HostError::Machine(what))
    }
}

/// The pins of a session, and the hash of their entry.
async fn pinned(store: &dyn Store, id: &SessionId) -> Result<(Box<Created>, Digest), HostError> {
    match load::first_entry(store, id).await {
        Ok(Some(pinned)) => Ok(pinned),
        Ok(None) => Err(StoreError::NotFound(format!("session {id}")).into()),
        Err(Unreadable::Store(error)) => Err(error.into()),
        Err(Unreadable::Corrupt(corrupt)) => {
            let fault = Box::new(corrupt_fault(&corrupt));
            Err(HostError::Faulted { session: id.clone(), fault })
        }
    }
}

fn has_grants(created: &Created, pin: &BundlePin) -> bool {
    let mut used = created.components.iter().filter(|component| component.bundle == pin.name);
    used.any(|component| !component.grants.is_empty())
}

fn described(created: &Created, pin: &BundlePin) -> Unvouched {
    let used = created.components.iter().filter(|component| component.bundle == pin.name);
    let granted = used.filter(|component| !component.grants.is_empty());
    Unvouched {
        bundle: pin.name.clone(),
        digest: pin.digest,
        approved_by: pin.approved_by.clone(),
        grants: granted.map(|component| (component.name.clone(), component.grants.describe())).collect(),
    }
}
