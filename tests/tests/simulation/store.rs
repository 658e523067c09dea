//! The store as one host of a seed sees it: the shared one, and in front of it everything that goes wrong between
//! the two. What that is decides [`Sim`]; appends have a file of their own.

use std::sync::Arc;
use std::time::Duration;

use rewake_core::codec::Record;
use rewake_core::command::{Command, Row};
use rewake_core::ids::{Digest, Head, HostId, SessionId, Timestamp};
use rewake_store::{
    Answer, Append, Arrivals, Blobs, Bundle, BundleName, Bundles, Inbox, Install, Installed, Installs,
    Journal, Lease, Leases, NewSession, SavedState, Sessions, Snapshot, Snapshots, States, Store, StoreError,
    Voucher, Vouchers,
};
use rewake_wire::{Fault as Shown, Sender, SessionSummary};

use crate::faults::Renewal;
use crate::sim::{Lie, Signal, Sim};

/// Another process takes a session over meanwhile.
const STOLEN: Duration = Duration::from_millis(10);

impl FaultStore {
    async fn acquired(&self, id: &SessionId, host: &HostId, ttl_ms: u64) -> Result<Lease, StoreError> {
        let FaultStore { sim, host: n } = self;
        let asked_ms = sim.looked_ms(*n);
        sim.enter(*n).await;
        sim.count_down(*n);
        let session = sim.session(id);
        sim.reopened(session);
        sim.lock().hosts.insert(*n, host.clone());
        let killed = sim.lock().scenes[session].faults.at_acquire();
        if killed == Some(false) {
            sim.count("killed before a lease");
            return sim.kill().await;
        }
        // Hosts that were killed leave no lock in a process that lives on.
        let before = sim.holder(session);
        let dead = {
            let state = sim.lock();
            &state.dead | &state.scenes[session].believed_dead
        };
        sim.set_clock(*n);
        let lease = sim.inner.acquire(id, host, ttl_ms, &|host| dead.contains(host)).await;
        let got = lease.as_ref().map_or_else(ToString::to_string, |lease| lease.epoch.to_string());
        sim.note(format!("host {n} acquires {session}: {got}"));
        if let Ok(lease) = &lease {
            sim.given(session, *n, lease, asked_ms, before.as_ref());
        }
        if killed == Some(true) {
            sim.count("killed after a lease");
            return sim.kill().await;
        }
        lease
    }

    async fn renewed(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease, StoreError> {
        let FaultStore { sim, host } = self;
        let asked_ms = sim.looked_ms(*host);
        sim.enter(*host).await;
        let session = sim.session(&lease.session);
        let fault = sim.lock().scenes[session].faults.at_renewal();
        if let Some(fault) = fault {
            sim.note(format!("  host {host} renews {session}: {fault:?}"));
            sim.count(&format!("renewal {fault:?}"));
            sim.disturb(session);
        }
        match fault {
            Some(Renewal::Fails(ms)) => sim.stop_renewals(session, ms),
            Some(Renewal::LateThere(ms)) => sim.leap(ms),
            Some(Renewal::Refused) => {
                sim.believe_dead(session);
                sim.signal(Signal::TakeOver(vec![session]));
                tokio::time::sleep(STOLEN).await;
                sim.enter(*host).await;
            }
            Some(Renewal::LateBack(_)) | None => {}
        }
        if !sim.renews(session) {
            return Err(StoreError::Io { what: "renewing".into(), source_text: "as the seed has it".into() });
        }
        sim.set_clock(*host);
        let renewed = sim.inner.renew(lease, ttl_ms).await;
        if let Ok(lease) = &renewed {
            sim.given(session, *host, lease, asked_ms, None);
        }
        if let Some(Renewal::LateBack(ms)) = fault {
            sim.leap(ms);
            sim.looks(session, *host);
        }
        renewed
    }
}

/// One host's way to the store.
pub(crate) struct FaultStore {
    pub(crate) sim: Arc<Sim>,
    /// Which host's.
    pub(crate) host: u32,
}

impl Journal for FaultStore {
    fn create(&self, new: NewSession) -> Answer<'_, ()> {
        self.sim.inner.create(new)
    }

    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(self.appended(append))
    }

    fn read<'a>(&'a self, session: &'a SessionId, after: u64, limit: u32) -> Answer<'a, Vec<Record>> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            self.sim.inner.read(session, after, limit).await
        })
    }

    fn head<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Head>> {
        self.sim.inner.head(session)
    }
}

impl Inbox for FaultStore {
    fn send<'a>(
        &'a self,
        session: &'a SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> Answer<'a, u64> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            if self.sim.lock().lie.take_if(|lie| *lie == Lie::Send).is_some() {
                return Ok(self.sim.inner.through(session).await? + 1);
            }
            let at = self.sim.session(session);
            let failed = self.sim.lock().scenes[at].faults.at_send();
            if let Some(is_written) = failed {
                self.sim.count("a send of which nobody knows");
                if is_written {
                    let _ = self.sim.inner.send(session, sender, command, key).await;
                }
                return Err(StoreError::Unknown("as the seed has it".into()));
            }
            self.sim.inner.send(session, sender, command, key).await
        })
    }

    fn pending<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            self.sim.inner.pending(session).await
        })
    }

    fn arrivals(&self, after: u64) -> Answer<'_, Arrivals> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            self.sim.inner.arrivals(after).await
        })
    }

    fn through<'a>(&'a self, session: &'a SessionId) -> Answer<'a, u64> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            self.sim.inner.through(session).await
        })
    }
}

impl Leases for FaultStore {
    fn acquire<'a>(
        &'a self,
        session: &'a SessionId,
        host: &'a HostId,
        ttl_ms: u64,
        _dead: &'a (dyn Fn(&HostId) -> bool + Sync),
    ) -> Answer<'a, Lease> {
        Box::pin(self.acquired(session, host, ttl_ms))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl_ms: u64) -> Answer<'a, Lease> {
        Box::pin(self.renewed(lease, ttl_ms))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            self.sim.reopened_by(self.sim.session(&lease.session), self.host);
            self.sim.inner.release(lease).await
        })
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Lease>> {
        self.sim.inner.holder(session)
    }
}

impl Snapshots for FaultStore {
    fn put_snapshot<'a>(&'a self, session: &'a SessionId, mut snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            if self.sim.lock().lie == Some(Lie::Snapshot) {
                snapshot.bytes = forged(&snapshot.bytes);
            }
            let at = self.sim.session(session);
            if self.sim.lock().scenes[at].faults.at_snapshot() {
                self.sim.count("a snapshot that is not kept");
                return Err(StoreError::Closed);
            }
            self.sim.inner.put_snapshot(session, snapshot).await
        })
    }

    fn newest_snapshot<'a>(&'a self, session: &'a SessionId, below: u64) -> Answer<'a, Option<Snapshot>> {
        Box::pin(async move {
            self.sim.enter(self.host).await;
            let mut snapshot = self.sim.inner.newest_snapshot(session, below).await?;
            let at = self.sim.session(session);
            if let Some(snapshot) = &mut snapshot
                && self.sim.lock().scenes[at].faults.at_snapshot()
            {
                self.sim.count("a snapshot that is damaged");
                let at = snapshot.bytes.len() / 2;
                snapshot.bytes[at] ^= 1;
            }
            Ok(snapshot)
        })
    }
}

/// A snapshot that says something else, under a digest that holds.
fn forged(bytes: &[u8]) -> Vec<u8> {
    let mut fold: serde_json::Value = serde_json::from_slice(&bytes[32..]).expect("a fold");
    fold["title"] = "somebody else's".into();
    let fold = serde_json::to_vec(&fold).expect("a fold");
    let mut forged = Digest::of(&fold).0.to_vec();
    forged.extend(fold);
    forged
}

impl States for FaultStore {
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>> {
        self.sim.inner.state(session, digest)
    }
}

impl Blobs for FaultStore {
    fn put_blob<'a>(&'a self, project: &'a str, bytes: Vec<u8>) -> Answer<'a, Digest> {
        self.sim.inner.put_blob(project, bytes)
    }

    fn blob<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, Option<Vec<u8>>> {
        self.sim.inner.blob(project, digest)
    }
}

impl Bundles for FaultStore {
    fn put_bundle(&self, bundle: Bundle) -> Answer<'_, ()> {
        self.sim.inner.put_bundle(bundle)
    }

    fn bundle<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bundle>> {
        self.sim.inner.bundle(digest)
    }

    fn list_bundles(&self) -> Answer<'_, Vec<BundleName>> {
        self.sim.inner.list_bundles()
    }
}

impl Installs for FaultStore {
    fn install(&self, install: Install) -> Answer<'_, ()> {
        self.sim.inner.install(install)
    }

    fn installed<'a>(&'a self, project: &'a str) -> Answer<'a, Vec<Installed>> {
        self.sim.inner.installed(project)
    }

    fn uninstall<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, ()> {
        self.sim.inner.uninstall(project, digest)
    }
}

impl Sessions for FaultStore {
    fn session<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        self.sim.inner.session(id)
    }

    fn list_sessions(&self, limit: u32, before: Option<SessionId>) -> Answer<'_, Vec<SessionSummary>> {
        self.sim.inner.list_sessions(limit, before)
    }

    fn set_fault<'a>(&'a self, id: &'a SessionId, fault: Option<Shown>) -> Answer<'a, ()> {
        self.sim.inner.set_fault(id, fault)
    }

    fn fault<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<Shown>> {
        self.sim.inner.fault(id)
    }
}

impl Vouchers for FaultStore {
    fn vouch<'a>(&'a self, session: &'a SessionId, vouchers: Vec<Voucher>) -> Answer<'a, ()> {
        self.sim.inner.vouch(session, vouchers)
    }

    fn vouchers<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Voucher>> {
        self.sim.inner.vouchers(session)
    }
}

impl Store for FaultStore {
    fn now(&self) -> Timestamp {
        self.sim.lock().time.wall(self.host)
    }
}
