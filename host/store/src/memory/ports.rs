//! The ports over memory. Every method does its work under one lock and is done when it returns, so
//! that what it does is one transaction.

use rewake_core::codec::Record;
use rewake_core::command::{Command, Row};
use rewake_core::ids::{Digest, Head, HostId, SessionId, Timestamp};
use rewake_wire::{Fault, Sender, SessionSummary};

use super::MemoryStore;
use super::kept::Kept;
use crate::ports::{
    Answer, Append, Arrivals, Blobs, Bundle, BundleName, Bundles, Inbox, Journal, Lease, Leases, NewSession,
    SavedState, Sessions, Snapshot, Snapshots, States, Store, VOUCHERS_MAX, Voucher, Vouchers,
};
use crate::{Position, Result, StoreError, checks};

fn answer<'a, T: Send + 'a>(done: Result<T>) -> Answer<'a, T> {
    Box::pin(std::future::ready(done))
}

impl Store for MemoryStore {
    fn now(&self) -> Timestamp {
        self.lock().now()
    }
}

impl MemoryStore {
    fn try_create(&self, new: NewSession) -> Result<()> {
        let head = checks::creation(&new)?;
        let mut all = self.lock();
        if all.sessions.contains_key(&new.session) {
            return Err(StoreError::Exists(new.session));
        }
        let missing =
            new.bundles.iter().find(|digest| !all.bundles.iter().any(|(name, _)| name.digest == **digest));
        if let Some(digest) = missing {
            return Err(StoreError::NotFound(format!("bundle blake3:{digest}")));
        }
        all.order.push(new.session.clone());
        all.sessions.insert(new.session.clone(), Kept::new(new, head));
        Ok(())
    }

    fn try_append(&self, mut append: Append) -> Result<()> {
        let head = checks::append(&append)?;
        let mut all = self.lock();
        let session = all.session(&append.session)?;
        session.admit(&append)?;
        let project = session.project.clone();
        #[cfg(any(test, feature = "testing"))]
        let outcome = {
            let expected = Position { epoch: append.epoch, seq: append.expected.seq };
            let fenced = all.session(&append.session)?.fenced(expected);
            all.asked.next(fenced)?
        };
        #[cfg(not(any(test, feature = "testing")))]
        let outcome = Ok(());
        for blob in std::mem::take(&mut append.blobs) {
            all.blobs.insert((project.clone(), blob.digest), blob.bytes);
        }
        let id = append.session.clone();
        all.session_mut(&id)?.apply(append, head);
        outcome
    }

    fn try_acquire(
        &self,
        session: &SessionId,
        host: &HostId,
        ttl_ms: u64,
        dead: &(dyn Fn(&HostId) -> bool + Sync),
    ) -> Result<Lease> {
        let mut all = self.lock();
        let now = all.now();
        let kept = all.session_mut(session)?;
        if let Some((holder, expires_at)) = &mut kept.held
            && holder != host
            && *expires_at > now
            && !dead(holder)
        {
            *expires_at = (*expires_at).min(end(now, ttl_ms));
            return Err(StoreError::Busy {
                session: session.clone(),
                holder: holder.clone(),
                process: None,
                expires_at: *expires_at,
            });
        }
        kept.epoch += 1;
        let expires_at = end(now, ttl_ms);
        kept.held = Some((host.clone(), expires_at));
        Ok(Lease { session: session.clone(), host: host.clone(), epoch: kept.epoch, expires_at })
    }

    fn try_renew(&self, lease: &Lease, ttl_ms: u64) -> Result<Lease> {
        let mut all = self.lock();
        let now = all.now();
        let kept = all.session_mut(&lease.session)?;
        if !kept.is_of(lease) {
            return Err(kept.fenced(Position { epoch: lease.epoch, seq: kept.head.seq }));
        }
        let expires_at = end(now, ttl_ms);
        kept.held = Some((lease.host.clone(), expires_at));
        Ok(Lease { expires_at, ..lease.clone() })
    }
}

fn end(now: Timestamp, ttl_ms: u64) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(ttl_ms).unwrap_or(i64::MAX)))
}

impl Journal for MemoryStore {
    fn create(&self, new: NewSession) -> Answer<'_, ()> {
        answer(self.try_create(new))
    }

    fn append(&self, append: Append) -> Answer<'_, ()> {
        answer(self.try_append(append))
    }

    fn read<'a>(&'a self, session: &'a SessionId, after: u64, limit: u32) -> Answer<'a, Vec<Record>> {
        answer(self.lock().session(session).map(|kept| {
            kept.records.iter().filter(|record| record.seq > after).take(limit as usize).cloned().collect()
        }))
    }

    fn head<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Head>> {
        answer(Ok(self.lock().sessions.get(session).map(|kept| kept.head)))
    }
}

impl Inbox for MemoryStore {
    fn send<'a>(
        &'a self,
        session: &'a SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> Answer<'a, u64> {
        answer(
            checks::command(&command, key.as_deref())
                .and_then(|()| self.lock().send(session, sender, command, key)),
        )
    }

    fn pending<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Row>> {
        answer(self.lock().session(session).map(Kept::pending))
    }

    fn arrivals(&self, after: u64) -> Answer<'_, Arrivals> {
        answer(Ok(self.lock().arrivals(after)))
    }

    fn through<'a>(&'a self, session: &'a SessionId) -> Answer<'a, u64> {
        answer(self.lock().session(session).map(Kept::through))
    }
}

impl Leases for MemoryStore {
    fn acquire<'a>(
        &'a self,
        session: &'a SessionId,
        host: &'a HostId,
        ttl_ms: u64,
        dead: &'a (dyn Fn(&HostId) -> bool + Sync),
    ) -> Answer<'a, Lease> {
        answer(self.try_acquire(session, host, ttl_ms, dead))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl_ms: u64) -> Answer<'a, Lease> {
        answer(self.try_renew(lease, ttl_ms))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()> {
        answer(self.lock().session_mut(&lease.session).map(|kept| {
            if kept.is_of(lease) {
                kept.held = None;
            }
        }))
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Lease>> {
        answer(self.lock().session(session).map(Kept::lease))
    }
}

impl Snapshots for MemoryStore {
    fn put_snapshot<'a>(&'a self, session: &'a SessionId, snapshot: Snapshot) -> Answer<'a, ()> {
        answer(self.lock().session_mut(session).and_then(|kept| kept.put_snapshot(snapshot)))
    }

    fn newest_snapshot<'a>(&'a self, session: &'a SessionId, below: u64) -> Answer<'a, Option<Snapshot>> {
        answer(
            self.lock()
                .session(session)
                .map(|kept| kept.snapshots.range(..below).next_back().map(|(_, snapshot)| snapshot.clone())),
        )
    }
}

impl States for MemoryStore {
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>> {
        answer(self.lock().session(session).map(|kept| kept.states.get(digest).cloned()))
    }
}

impl Blobs for MemoryStore {
    fn put_blob<'a>(&'a self, project: &'a str, bytes: Vec<u8>) -> Answer<'a, Digest> {
        let digest = Digest::of(&bytes);
        self.lock().blobs.insert((project.to_owned(), digest), bytes);
        answer(Ok(digest))
    }

    fn blob<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, Option<Vec<u8>>> {
        answer(Ok(self.lock().blobs.get(&(project.to_owned(), *digest)).cloned()))
    }
}

impl Bundles for MemoryStore {
    fn put_bundle(&self, mut bundle: Bundle) -> Answer<'_, ()> {
        if let Err(error) = checks::bundle(&bundle) {
            return answer(Err(error));
        }
        let mut all = self.lock();
        if !all.bundles.iter().any(|(name, _)| name.digest == bundle.digest) {
            bundle.files.sort();
            let name = BundleName {
                digest: bundle.digest,
                name: bundle.name.clone(),
                version: bundle.version.clone(),
                added_at: all.now(),
            };
            all.bundles.push((name, bundle));
        }
        answer(Ok(()))
    }

    fn bundle<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bundle>> {
        let all = self.lock();
        let found = all.bundles.iter().find(|(name, _)| name.digest == *digest);
        answer(Ok(found.map(|(_, bundle)| bundle.clone())))
    }

    fn list_bundles(&self) -> Answer<'_, Vec<BundleName>> {
        answer(Ok(self.lock().bundles.iter().rev().map(|(name, _)| name.clone()).collect()))
    }
}

impl Vouchers for MemoryStore {
    fn vouch<'a>(&'a self, session: &'a SessionId, vouchers: Vec<Voucher>) -> Answer<'a, ()> {
        answer(self.lock().session_mut(session).map(|kept| kept.vouch(vouchers)))
    }

    fn vouchers<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Voucher>> {
        answer(
            self.lock()
                .session(session)
                .map(|kept| kept.vouchers.iter().take(VOUCHERS_MAX).cloned().collect()),
        )
    }
}

impl Sessions for MemoryStore {
    fn session<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        answer(Ok(self.lock().sessions.get(id).map(Kept::summary)))
    }

    fn list_sessions(&self, limit: u32, before: Option<SessionId>) -> Answer<'_, Vec<SessionSummary>> {
        let all = self.lock();
        let end = match &before {
            None => all.order.len(),
            Some(before) => match all.order.iter().position(|id| id == before) {
                Some(end) => end,
                None => return answer(Err(StoreError::no_session(before))),
            },
        };
        let page = all.order[..end].iter().rev().take(limit as usize);
        answer(Ok(page.filter_map(|id| all.sessions.get(id)).map(Kept::summary).collect()))
    }

    fn set_fault<'a>(&'a self, id: &'a SessionId, fault: Option<Fault>) -> Answer<'a, ()> {
        answer(self.lock().session_mut(id).map(|kept| kept.fault = fault))
    }

    fn fault<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<Fault>> {
        answer(self.lock().session(id).map(|kept| kept.fault.clone()))
    }
}
