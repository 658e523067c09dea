//! A store that breaks off: after a number of appends it writes nothing more, as if its host had been killed
//! right there. Leases can still be released, so that the next host need not wait. It can also read as
//! little at once as a store may.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rewake_core::codec::Record;
use rewake_core::command::{Command, Row};
use rewake_core::ids::{Digest, Head, HostId, SessionId, Timestamp};
use rewake_wire::{Fault, Sender, SessionSummary};

use crate::{
    Answer, Append, Arrivals, Blobs, Bundle, BundleName, Bundles, Inbox, Install, Installed, Installs,
    Journal, Lease, Leases, NewSession, SavedState, Sessions, Snapshot, Snapshots, States, Store, StoreError,
    Voucher, Vouchers,
};

/// A store in front of another one.
pub struct CutStore {
    inner: Arc<dyn Store>,
    left: AtomicI64,
    /// Leases that may still be acquired.
    leases: AtomicI64,
    read_max: u32,
}

impl CutStore {
    /// Lets this number of appends through.
    pub fn new(inner: Arc<dyn Store>, appends: i64) -> Self {
        CutStore {
            inner,
            left: AtomicI64::new(appends),
            leases: AtomicI64::new(i64::MAX),
            read_max: u32::MAX,
        }
    }

    /// Never breaks off, and reads at most this number of records at once, whatever it is asked for.
    pub fn reading(inner: Arc<dyn Store>, read_max: u32) -> Self {
        CutStore { read_max, ..CutStore::new(inner, i64::MAX) }
    }

    /// Never breaks off, and gives out this number of leases; then its disk fails anyone who asks for one.
    pub fn leasing(inner: Arc<dyn Store>, leases: i64) -> Self {
        CutStore { leases: AtomicI64::new(leases), ..CutStore::new(inner, i64::MAX) }
    }

    /// Whether it has broken off.
    pub fn is_cut(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }

    fn cut<T: Send + 'static>(&self) -> Answer<'_, T> {
        Box::pin(async { Err(StoreError::Closed) })
    }
}

impl Journal for CutStore {
    fn create(&self, new: NewSession) -> Answer<'_, ()> {
        self.inner.create(new)
    }

    fn append(&self, append: Append) -> Answer<'_, ()> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 { self.inner.append(append) } else { self.cut() }
    }

    fn read<'a>(&'a self, session: &'a SessionId, after: u64, limit: u32) -> Answer<'a, Vec<Record>> {
        self.inner.read(session, after, limit.min(self.read_max))
    }

    fn head<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Head>> {
        self.inner.head(session)
    }
}

impl Inbox for CutStore {
    fn send<'a>(
        &'a self,
        session: &'a SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> Answer<'a, u64> {
        self.inner.send(session, sender, command, key)
    }

    fn pending<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Row>> {
        self.inner.pending(session)
    }

    fn arrivals(&self, after: u64) -> Answer<'_, Arrivals> {
        self.inner.arrivals(after)
    }

    fn through<'a>(&'a self, session: &'a SessionId) -> Answer<'a, u64> {
        self.inner.through(session)
    }
}

impl Leases for CutStore {
    fn acquire<'a>(
        &'a self,
        session: &'a SessionId,
        host: &'a HostId,
        ttl_ms: u64,
        dead: &'a (dyn Fn(&HostId) -> bool + Sync),
    ) -> Answer<'a, Lease> {
        if self.leases.fetch_sub(1, Ordering::SeqCst) > 0 {
            return self.inner.acquire(session, host, ttl_ms, dead);
        }
        Box::pin(async { Err(StoreError::io("acquiring a lease", "the disk is gone")) })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl_ms: u64) -> Answer<'a, Lease> {
        self.inner.renew(lease, ttl_ms)
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()> {
        self.inner.release(lease)
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Lease>> {
        self.inner.holder(session)
    }
}

impl Snapshots for CutStore {
    fn put_snapshot<'a>(&'a self, session: &'a SessionId, snapshot: Snapshot) -> Answer<'a, ()> {
        if self.is_cut() { self.cut() } else { self.inner.put_snapshot(session, snapshot) }
    }

    fn newest_snapshot<'a>(&'a self, session: &'a SessionId, below: u64) -> Answer<'a, Option<Snapshot>> {
        self.inner.newest_snapshot(session, below)
    }
}

impl States for CutStore {
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>> {
        self.inner.state(session, digest)
    }
}

impl Blobs for CutStore {
    fn put_blob<'a>(&'a self, project: &'a str, bytes: Vec<u8>) -> Answer<'a, Digest> {
        self.inner.put_blob(project, bytes)
    }

    fn blob<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, Option<Vec<u8>>> {
        self.inner.blob(project, digest)
    }
}

impl Bundles for CutStore {
    fn put_bundle(&self, bundle: Bundle) -> Answer<'_, ()> {
        self.inner.put_bundle(bundle)
    }

    fn bundle<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bundle>> {
        self.inner.bundle(digest)
    }

    fn list_bundles(&self) -> Answer<'_, Vec<BundleName>> {
        self.inner.list_bundles()
    }
}

impl Installs for CutStore {
    fn install(&self, install: Install) -> Answer<'_, ()> {
        self.inner.install(install)
    }

    fn installed<'a>(&'a self, project: &'a str) -> Answer<'a, Vec<Installed>> {
        self.inner.installed(project)
    }

    fn uninstall<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, ()> {
        self.inner.uninstall(project, digest)
    }
}

impl Sessions for CutStore {
    fn session<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        self.inner.session(id)
    }

    fn list_sessions(&self, limit: u32, before: Option<SessionId>) -> Answer<'_, Vec<SessionSummary>> {
        self.inner.list_sessions(limit, before)
    }

    fn set_fault<'a>(&'a self, id: &'a SessionId, fault: Option<Fault>) -> Answer<'a, ()> {
        self.inner.set_fault(id, fault)
    }

    fn fault<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<Fault>> {
        self.inner.fault(id)
    }
}

impl Vouchers for CutStore {
    fn vouch<'a>(&'a self, session: &'a SessionId, vouchers: Vec<Voucher>) -> Answer<'a, ()> {
        self.inner.vouch(session, vouchers)
    }

    fn vouchers<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Voucher>> {
        self.inner.vouchers(session)
    }
}

impl Store for CutStore {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }
}
