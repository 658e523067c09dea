//! Taking a session up: its lease, its components, its fold, and the driver that runs it; and taking it up again
//! where its driver came to an end that may be over (journal.md R0).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rewake_core::fact::{Created, Source};
use rewake_core::ids::{HostId, SessionId};
use rewake_store::{HostLock, Lease, StoreError};
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tracing::warn;

use super::{Host, HostError};
use crate::HOST_VERSION;
use crate::bundle::Bundle;
use crate::config::{Rules, Watch};
use crate::context::SessionContext;
use crate::driver::{Again, Driven, Driver, Options, corrupt_fault};
use crate::lease::{Keeper, LEASE_MS, boot_ms};
use crate::live::{Followers, Gone, Live};
use crate::load::{self, Folded, Unreadable};
use crate::loaded::{Leave, Loaded};
use crate::mounts::{self, Volumes};
use crate::plan::{self, PlanError};
use crate::workspace;
use crate::{grants, hooks};

/// How often a session whose lease or store failed it is taken up again within [`RELOADS_TIME`].
const RELOADS_MAX: usize = 3;
/// See there.
const RELOADS_TIME: Duration = Duration::from_secs(60);
/// How long after such a failure that is.
const RELOAD_PAUSE: Duration = Duration::from_millis(100);

/// A session that was taken up, and that no driver runs yet.
struct TakenUp {
    cx: Arc<SessionContext>,
    watch: Watch,
    folded: Folded,
    lease: Lease,
    keeper: Keeper,
}

impl Host {
    /// Takes a session up: acquires its lease, reads it back, and runs what is due. Cheap if this host
    /// runs it already. What comes with it is told everything from then on.
    ///
    /// # Errors
    /// If it is not there, another host has it, it takes no step here, or a component cannot be had.
    pub async fn load(&self, id: &SessionId) -> Result<(Loaded, broadcast::Receiver<Live>), HostError> {
        let _loading = self.0.loading.lock().await;
        if let Some(loaded) = self.loaded(id) {
            let follower = loaded.follow();
            if !loaded.leaving.load(Ordering::Acquire) {
                return Ok((loaded, follower));
            }
            loaded.gone().await;
        }
        let taken = self.take_up(id).await?;
        let followers = Followers::new();
        let (leave_sender, leave) = mpsc::channel(1);
        let (told, gone) = watch::channel(None);
        let loaded = Loaded {
            id: id.clone(),
            followers: followers.clone(),
            wake: Arc::new(Notify::new()),
            leave: leave_sender,
            leaving: Arc::default(),
            gone,
        };
        self.lock().insert(id.clone(), loaded.clone());
        let (host, ours) = (self.clone(), loaded.clone());
        let follower = followers.follow();
        tokio::spawn(async move {
            let gone = host.run(&ours, taken, leave).await;
            host.lock().remove(&ours.id);
            followers.tell(Live::Gone(gone.clone()));
            let _ = told.send(Some(gone));
        });
        Ok((loaded, follower))
    }

    /// Has a session driven until it is let go of. A driver that lost its lease, does not know what was written,
    /// or runs by rules that changed, is followed by another one, which reads the session back as any load does.
    async fn run(&self, loaded: &Loaded, taken: TakenUp, mut leave: mpsc::Receiver<Leave>) -> Gone {
        let mut taken = taken;
        let mut again = None;
        let mut reloads = VecDeque::new();
        loop {
            let options = self.options(loaded, taken, again.as_ref(), leave);
            // A task of its own, so that a session whose driver panics is not held for ever.
            let drove = match tokio::spawn(Driver::drive(options)).await {
                Ok(drove) => drove,
                Err(error) => return Gone::Failed(format!("a bug of this host: {error}")),
            };
            let why = match drove.driven {
                Driven::Gone(gone) => return gone,
                Driven::Again(why) => why,
            };
            if loaded.leaving.load(Ordering::Acquire) || !may_reload(&mut reloads, &why) {
                return why.gone();
            }
            if !matches!(why, Again::Rules) {
                warn!(session = %loaded.id, why = why.word(), "the session is taken up again");
                tokio::time::sleep(RELOAD_PAUSE).await;
            }
            taken = match self.take_up(&loaded.id).await {
                Ok(taken) => taken,
                Err(HostError::Store(StoreError::Busy { .. })) => return Gone::Fenced,
                Err(HostError::Faulted { fault, .. }) => return Gone::Faulted(*fault),
                Err(error) => return Gone::Failed(error.to_string()),
            };
            leave = drove.leave;
            again = Some(why);
        }
    }

    fn options(
        &self,
        loaded: &Loaded,
        taken: TakenUp,
        again: Option<&Again>,
        leave: mpsc::Receiver<Leave>,
    ) -> Options {
        let TakenUp { cx, watch, folded, lease, keeper } = taken;
        Options {
            cx,
            watch,
            folded,
            lease,
            keeper,
            // Orderly ends are told by their own entry.
            again: again.filter(|why| !matches!(why, Again::Rules)).map(|why| why.word().to_owned()),
            followers: loaded.followers.clone(),
            wake: loaded.wake.clone(),
            leave,
            leaving: Arc::clone(&loaded.leaving),
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
                keeper.release().await;
                Err(error)
            }
        }
    }

    /// Acquires a session's lease.
    pub(super) async fn lease(&self, id: &SessionId) -> Result<(Lease, Keeper), HostError> {
        let inner = &self.0;
        let lock = self.host_lock().await?;
        let asked_ms = boot_ms();
        let dead = |host: &HostId| lock.is_dead(host);
        let lease = inner.store.acquire(id, &inner.id, LEASE_MS, &dead).await;
        let lease = lease.map_err(|error| named(lock, error))?;
        Ok((lease.clone(), Keeper::new(inner.store.clone(), lease, asked_ms)))
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
            Err(Unreadable::Store(error)) => return Err(error.into()),
            Err(Unreadable::Corrupt(corrupt)) => {
                let fault = corrupt_fault(&corrupt);
                self.0.store.set_fault(id, Some(fault.clone())).await?;
                return Err(HostError::Faulted { session: id.clone(), fault: Box::new(fault) });
            }
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
        let cx = self.context(id, created, source, self.rules()?).await?;
        let held = cx.clone();
        let cleared = tokio::task::spawn_blocking(move || held.volumes.clear(&held.id)).await;
        cleared.map_err(|error| HostError::Machine(error.to_string()))?;
        Ok((cx, watch, folded))
    }

    /// Makes a session's components ready, from its bundles as the store keeps them.
    pub(super) async fn context(
        &self,
        id: &SessionId,
        created: Created,
        source: Source,
        rules: Rules,
    ) -> Result<Arc<SessionContext>, HostError> {
        let inner = &self.0;
        for pin in &created.bundles {
            let used = created.components.iter().filter(|component| component.bundle == pin.name);
            let missing: Vec<_> =
                used.filter(|pin| inner.components.get(pin.digest, pin.kind).is_none()).collect();
            if missing.is_empty() {
                continue;
            }
            let Some(kept) = inner.store.bundle(&pin.digest).await? else {
                let what =
                    format!("bundle {} {} ({}) is not in this store", pin.name, pin.version, pin.digest);
                return Err(HostError::Machine(what));
            };
            let files = kept.files.into_iter().map(|(path, bytes)| (path, bytes.into())).collect();
            let bundle = Bundle::from_files(files).map_err(PlanError::Bundle)?;
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
        let grants = grants::of_session(&rules, &created);
        let volumes = self.volumes(id, &created, &rules).await?;
        Ok(Arc::new(SessionContext {
            id: id.clone(),
            source,
            matchers: hooks::matchers(&created),
            created: grants::narrow(created, &grants),
            grants,
            volumes,
            rules: Arc::new(rules),
            components: inner.components.clone(),
            models: inner.models.clone(),
            egress: inner.egress.clone(),
            store: inner.store.clone(),
            running: Arc::default(),
        }))
    }

    /// The folders behind a session's mounts; the files of bundles are laid out where a component sees them.
    async fn volumes(&self, id: &SessionId, created: &Created, rules: &Rules) -> Result<Volumes, HostError> {
        let inner = &self.0;
        let mut bundles = BTreeMap::new();
        for (name, digest) in mounts::bundles_seen(created) {
            let kept = inner.store.bundle(&digest).await?;
            let files = kept.map(|kept| kept.files.into_iter().collect()).unwrap_or_default();
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

/// Whether a session may be taken up once more. Rules change when somebody changes them; whatever else ends a
/// driver again and again is not mended by another one.
fn may_reload(reloads: &mut VecDeque<Instant>, why: &Again) -> bool {
    if matches!(why, Again::Rules) {
        return true;
    }
    reloads.retain(|at| at.elapsed() < RELOADS_TIME);
    reloads.push_back(Instant::now());
    reloads.len() <= RELOADS_MAX
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
