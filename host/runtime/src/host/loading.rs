//! Taking a session up: its lease, its components, its fold, and the driver that runs it; and taking it up again
//! where its driver came to an end that may be over (journal.md R0).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rewake_core::fact::{Created, Source};
use rewake_core::ids::{HostId, SessionId};
use rewake_store::{HostLock, Lease, StoreError};
use rewake_wire::Fault;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::Instant;
use tracing::warn;

use super::{Host, HostError, trust};
use crate::HOST_VERSION;
use crate::context::SessionContext;
use crate::driver::{Driver, DriverExit, LeaseState, Options, ReloadReason, corrupt_fault, stored_fault};
use crate::hooks;
use crate::lease::{Keeper, LEASE_MS, give_back};
use crate::live::{Followers, Live, UnloadReason};
use crate::load::{self, Folded, Unreadable};
use crate::loaded::{DriverRequest, Loaded};
use crate::plan;
use rewake_policy::config::{Rules, Watch};
use rewake_policy::grants::{self, Vouched};
use rewake_sandbox::mounts::{self, Volumes};
use rewake_sandbox::workspace;

/// How often a session whose lease or store failed it is loaded again within [`RELOADS_TIME`].
const RELOADS_MAX: usize = 3;
/// See there.
const RELOADS_TIME: Duration = Duration::from_secs(60);
/// How long after the first such failure that is.
const RELOAD_PAUSE: Duration = Duration::from_millis(100);

/// A session that was loaded, and that no driver runs yet.
struct TakenUp {
    cx: Arc<SessionContext>,
    watch: Watch,
    folded: Folded,
    lease: Lease,
    keeper: Keeper,
}

impl Host {
    /// Loads a session: acquires its lease, reads it back, and runs what is due. Cheap if this host
    /// runs it already. What comes with it is told everything from then on.
    ///
    /// # Errors
    /// If it is not there, another host has it, it takes no step here, or a component cannot be had.
    pub async fn load(&self, id: &SessionId) -> Result<(Loaded, broadcast::Receiver<Live>), HostError> {
        let _loading = self.0.loading.lock().await;
        if let Some(loaded) = self.loaded(id) {
            let follower = loaded.follow();
            if !loaded.unloading.load(Ordering::Acquire) {
                return Ok((loaded, follower));
            }
            loaded.unloaded().await;
        }
        self.heed_arrivals().await?;
        let taken = self.take_up(id).await?;
        let followers = Followers::default();
        let (request_sender, requests) = mpsc::channel(1);
        let (told, reason) = watch::channel(None);
        let loaded = Loaded {
            id: id.clone(),
            followers: followers.clone(),
            wake: Arc::new(Notify::new()),
            requests: request_sender,
            unloading: Arc::default(),
            reason,
        };
        self.lock().insert(id.clone(), loaded.clone());
        let (host, ours) = (self.clone(), loaded.clone());
        let follower = followers.follow();
        tokio::spawn(async move {
            let gone = host.run(&ours, taken, requests).await;
            host.lock().remove(&ours.id);
            followers.tell(Live::Unloaded(gone.clone()));
            let _ = told.send(Some(gone));
        });
        Ok((loaded, follower))
    }

    /// Has a session driven until it is unloaded. A driver that lost its lease, does not know what was written,
    /// or runs by rules that changed, is followed by another one, which reads the session back as any load does.
    async fn run(
        &self,
        loaded: &Loaded,
        taken: TakenUp,
        mut requests: mpsc::Receiver<DriverRequest>,
    ) -> UnloadReason {
        let mut taken = taken;
        let mut again = None;
        let mut reloads = VecDeque::new();
        loop {
            let lease = taken.lease.clone();
            let cx = Arc::clone(&taken.cx);
            let options = self.options(loaded, taken, again.as_ref(), requests);
            // A task of its own, so that a session whose driver panics is not held for ever.
            let (exit, lease_state, rest) = match tokio::spawn(Driver::drive(options)).await {
                Ok(exit) => exit,
                Err(error) => {
                    self.note_lease(if cx.quiesce().await { LeaseState::Held } else { LeaseState::Busy });
                    return UnloadReason::Failed(format!("a bug of this host: {error}"));
                }
            };
            let why = match exit {
                DriverExit::Unload(gone) => {
                    self.note_lease(lease_state);
                    return gone;
                }
                DriverExit::Reload(why) => why,
            };
            // Rules change when somebody changes them.
            let may_reload = matches!(why, ReloadReason::Rules) || may_retry(&mut reloads);
            if loaded.unloading.load(Ordering::Acquire) || !may_reload {
                self.give_back(&lease).await;
                return why.unload_reason();
            }
            if !matches!(why, ReloadReason::Rules) {
                warn!(session = %loaded.id, why = why.word(), "the session is loaded again");
                tokio::time::sleep(pause(&reloads)).await;
            }
            taken = loop {
                let error = match Box::pin(self.take_up(&loaded.id)).await {
                    Ok(taken) => break taken,
                    Err(HostError::Store(StoreError::Busy { .. })) => return UnloadReason::Fenced,
                    Err(HostError::Faulted { fault, .. }) => return UnloadReason::Faulted(*fault),
                    Err(error) => error,
                };
                let may_pass =
                    matches!(error, HostError::Store(StoreError::Unknown(_) | StoreError::Io { .. }));
                let is_unloading = loaded.unloading.load(Ordering::Acquire);
                if !may_pass || is_unloading || !may_retry(&mut reloads) {
                    self.give_back(&lease).await;
                    return UnloadReason::Failed(error.to_string());
                }
                tokio::time::sleep(pause(&reloads)).await;
            };
            (requests, again) = (rest, Some(why));
        }
    }

    /// Gives back a lease that this host may still have, and does nothing under.
    async fn give_back(&self, lease: &Lease) {
        let is_released = give_back(self.0.store.as_ref(), lease).await;
        self.note_lease(if is_released { LeaseState::Released } else { LeaseState::Held });
    }

    /// Sees to it that others need not wait for a lease that was not given back, once this process is gone.
    fn note_lease(&self, lease: LeaseState) {
        let Some(lock) = self.0.lock.get() else { return };
        match lease {
            LeaseState::Released => {}
            LeaseState::Held => lock.leave_behind(),
            LeaseState::Busy => lock.take_along(),
        }
    }

    fn options(
        &self,
        loaded: &Loaded,
        taken: TakenUp,
        again: Option<&ReloadReason>,
        requests: mpsc::Receiver<DriverRequest>,
    ) -> Options {
        let TakenUp { cx, watch, folded, lease, keeper } = taken;
        Options {
            cx,
            watch,
            folded,
            lease,
            keeper,
            // Orderly ends are told by their own entry.
            again: again.filter(|why| !matches!(why, ReloadReason::Rules)).map(|why| why.word().to_owned()),
            followers: loaded.followers.clone(),
            wake: loaded.wake.clone(),
            requests,
            unloading: Arc::clone(&loaded.unloading),
            snapshot_entries: self.0.snapshot_entries,
        }
    }

    /// Acquires a session's lease and reads it back.
    async fn take_up(&self, id: &SessionId) -> Result<TakenUp, HostError> {
        let inner = &self.0;
        if let Some(fault) = inner.store.fault(id).await? {
            // Another version may replay what this one could not.
            if fault.host_version != HOST_VERSION {
                inner.store.set_fault(id, None).await?;
            } else {
                return Err(HostError::Faulted { session: id.clone(), fault: Box::new(fault) });
            }
        }
        let (lease, keeper) = self.lease(id).await?;
        match self.read_back(id).await {
            Ok((cx, watch, folded)) => Ok(TakenUp { cx, watch, folded, lease, keeper }),
            Err(error) => {
                self.note_lease(if keeper.release().await { LeaseState::Released } else { LeaseState::Held });
                Err(error)
            }
        }
    }

    /// Acquires a session's lease.
    pub(super) async fn lease(&self, id: &SessionId) -> Result<(Lease, Keeper), HostError> {
        let inner = &self.0;
        let lock = self.host_lock().await?;
        let asked_ms = inner.clock.boot_ms();
        let dead = |host: &HostId| lock.is_dead(host);
        let lease = inner.store.acquire(id, &inner.id, LEASE_MS, &dead).await;
        let lease = lease.map_err(|error| {
            // It may be this host's.
            if matches!(error, StoreError::Unknown(_)) {
                self.note_lease(LeaseState::Held);
            }
            named(lock, error)
        })?;
        Ok((lease.clone(), Keeper::new(inner.store.clone(), inner.clock.clone(), lease, asked_ms)))
    }

    /// This host's lock, taken with the first session: who only reads writes nothing into the data folder.
    async fn host_lock(&self) -> Result<&HostLock, HostError> {
        let inner = &self.0;
        let take = async || {
            let lock = HostLock::take(&inner.data, &inner.id)?;
            lock.sweep();
            workspace::sweep(&inner.data);
            Ok(lock)
        };
        inner.lock.get_or_try_init(take).await
    }

    /// What loading needs, in order: pins, components, fold.
    async fn read_back(&self, id: &SessionId) -> Result<(Arc<SessionContext>, Watch, Folded), HostError> {
        let folded = match load::fold(self.0.store.as_ref(), id).await {
            Ok(folded) => folded,
            Err(Unreadable::Store(error @ StoreError::Corrupt { .. })) => {
                return Err(self.faulted(id, stored_fault(&error)).await);
            }
            Err(Unreadable::Store(error)) => return Err(error.into()),
            Err(Unreadable::Corrupt(corrupt)) => return Err(self.faulted(id, corrupt_fault(&corrupt)).await),
        };
        self.settle_imports(id, folded.session.imported).await?;
        let folder = workspace::path(&self.0.data, id);
        if folded.session.ended.is_none() && !workspace::is_there(&folder) {
            let folder = folder.display();
            return Err(HostError::Machine(format!(
                "the workspace of {id} is gone: put it back at {folder}"
            )));
        }
        let created = folded.session.pins().clone();
        let watch = Watch::of(&self.0.rules);
        let source = folded.session.load.next();
        let rules = self.rules()?;
        let (store, key) = (self.0.store.as_ref(), self.0.rules.trust(&rules));
        let vouched = trust::vouched(store, &key, id, &folded.pinned_by, &created).await?;
        let cx = self.context(id, created, source, rules, vouched).await?;
        let held = cx.clone();
        let cleared = tokio::task::spawn_blocking(move || held.volumes.clear(&held.id)).await;
        cleared.map_err(|error| HostError::Machine(error.to_string()))?;
        Ok((cx, watch, folded))
    }

    /// Keeps why a session takes no step here. One that cannot be kept is told all the same.
    async fn faulted(&self, id: &SessionId, fault: Fault) -> HostError {
        if let Err(error) = self.0.store.set_fault(id, Some(fault.clone())).await {
            warn!(%error, "a fault could not be kept");
        }
        HostError::Faulted { session: id.clone(), fault: Box::new(fault) }
    }

    /// Makes a session's components ready, from its bundles as the store keeps them.
    pub(super) async fn context(
        &self,
        id: &SessionId,
        created: Created,
        source: Source,
        rules: Rules,
        vouched: Vouched,
    ) -> Result<Arc<SessionContext>, HostError> {
        let inner = &self.0;
        for pin in &created.bundles {
            let used = created.components.iter().filter(|component| component.bundle == pin.name);
            let missing: Vec<_> =
                used.filter(|pin| inner.components.get(pin.digest, pin.kind).is_none()).collect();
            // Rules allow a bundle by its digest: this machine has to see that the pins are of that bundle.
            let is_foreign = rules.allowed(&pin.name, &pin.digest).is_some() && !vouched.covers(&pin.digest);
            let bundle = match (is_foreign, missing.is_empty()) {
                (true, _) => self.check_pins(&created, pin).await?,
                (false, true) => continue,
                (false, false) => self.pinned_bundle(pin).await?,
            };
            for component in missing {
                match bundle.component(&component.name).filter(|found| found.digest == component.digest) {
                    Some(found) => plan::ready(&inner.components, &bundle, found).await?,
                    None => {
                        let what =
                            format!("bundle {} no longer has the component {}", pin.name, component.name);
                        return Err(HostError::Machine(what));
                    }
                }
            }
        }
        let grants = grants::of_session(&rules, &created, &vouched);
        let volumes = self.volumes(id, &created, &rules).await?;
        Ok(Arc::new(SessionContext {
            id: id.clone(),
            source,
            matchers: hooks::matchers(&created),
            created: grants::narrow(created, &grants),
            grants,
            vouched,
            volumes,
            rules: Arc::new(rules),
            components: inner.components.clone(),
            models: inner.models.clone(),
            egress: inner.egress.clone(),
            store: inner.store.clone(),
            clock: inner.clock.clone(),
            running: Arc::default(),
            deadline: Arc::default(),
            files_in_place: inner.files_in_place,
        }))
    }

    /// The folders behind a session's mounts; the files of bundles are laid out where a component sees them.
    async fn volumes(&self, id: &SessionId, created: &Created, rules: &Rules) -> Result<Volumes, HostError> {
        let inner = &self.0;
        let mut bundles = BTreeMap::new();
        for (name, digest) in mounts::bundles_seen(created) {
            let Some(pin) = created.bundles.iter().find(|pin| pin.digest == digest) else { continue };
            let bundle = self.pinned_bundle(pin).await?;
            let files = bundle.files().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
            let cache = inner.cache.clone();
            let laid_out = tokio::task::spawn_blocking(move || mounts::lay_out(&cache, digest, &files)).await;
            let volume = laid_out
                .map_err(std::io::Error::other)
                .and_then(|laid_out| laid_out)
                .map_err(|error| HostError::Machine(format!("cannot lay out the bundle {name}: {error}")))?;
            bundles.insert(name.to_owned(), Arc::new(volume));
        }
        Ok(Volumes::new(&inner.data, id, rules, bundles))
    }
}

/// Whether a session may be loaded once more after a failure: what ends a driver again and again is not fixed by
/// another one.
fn may_retry(reloads: &mut VecDeque<Instant>) -> bool {
    reloads.retain(|at| at.elapsed() < RELOADS_TIME);
    reloads.push_back(Instant::now());
    reloads.len() <= RELOADS_MAX
}

/// How long until a session is loaded again: longer each time, for a disk that may get well.
fn pause(reloads: &VecDeque<Instant>) -> Duration {
    RELOAD_PAUSE * 4_u32.pow(u32::try_from(reloads.len()).unwrap_or(0).clamp(1, 3) - 1)
}

/// The same error, with the process that has the session.
fn named(lock: &HostLock, error: StoreError) -> StoreError {
    match error {
        StoreError::Busy { session, holder, expires_at, process: _ } => {
            let process = lock.process_of(&holder);
            StoreError::Busy { session, holder, process, expires_at }
        }
        other => other,
    }
}
