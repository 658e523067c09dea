//! Bringing files into the workspace of a session that nobody runs: made beside it, announced in the journal, then
//! put in its place. The host that loads the session after a crash finishes it, or leaves nothing of it.

use std::path::PathBuf;
use std::time::Duration;

use rewake_core::Refusal;
use rewake_core::decide::{self, Input};
use rewake_core::fact::WorkspaceImported;
use rewake_core::ids::{Digest, SessionId};
use rewake_core::session::Session;
use rewake_store::{Append, Lease, Projection};
use rewake_wire::Sender;
use tokio::task::spawn_blocking;

use super::{Host, HostError};
use crate::driver::corrupt_fault;
use crate::lease::{Keeper, LeaseError};
use crate::load::{self, Unreadable};
use rewake_sandbox::workspace::staged::{self, Bring, Staged};
use rewake_sandbox::workspace::{self, WorkspaceError};

/// How often the lease is looked at while files are copied.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Files for a workspace.
#[derive(Clone, Debug)]
pub struct Import {
    /// The folder that they are in; it stays as it is.
    pub from: PathBuf,
    /// Whether everything that the workspace holds goes. Else only what the folder has something else for.
    pub replaces: bool,
    /// Who brings them.
    pub by: Sender,
}

impl Host {
    /// Brings files into the workspace of a session with no open turn. The session is not loaded by it; one that
    /// this host runs and has nothing to do for is unloaded.
    ///
    /// # Errors
    /// If it is not there, takes no step here, is at work, has ended or is another host's; if the folder cannot be
    /// copied, or the workspace would hold more than the operator's rules let it. Once it is in the journal, an error
    /// says so.
    pub async fn import(&self, id: &SessionId, import: &Import) -> Result<WorkspaceImported, HostError> {
        let _loading = self.0.loading.lock().await;
        if let Some(loaded) = self.loaded(id)
            && loaded.unload_if_idle("idle").await.is_none()
        {
            return Err(Refusal::Conflict(format!("{id} is at work here; wait until it rests")).into());
        }
        if let Some(fault) = self.0.store.fault(id).await? {
            return Err(HostError::Faulted { session: id.clone(), fault: Box::new(fault) });
        }
        let (lease, mut keeper) = self.lease(id).await?;
        let imported = self.import_under(&lease, &mut keeper, import).await;
        keeper.release().await;
        imported
    }

    async fn import_under(
        &self,
        lease: &Lease,
        keeper: &mut Keeper,
        import: &Import,
    ) -> Result<WorkspaceImported, HostError> {
        let id = &lease.session;
        let mut session = match load::fold(self.0.store.as_ref(), id).await {
            Ok(folded) => folded.session,
            Err(Unreadable::Store(error)) => return Err(error.into()),
            Err(Unreadable::Corrupt(corrupt)) => {
                let fault = Box::new(corrupt_fault(&corrupt));
                return Err(HostError::Faulted { session: id.clone(), fault });
            }
        };
        let mut fact = WorkspaceImported {
            by: import.by.clone(),
            files: 0,
            bytes: 0,
            left_out: 0,
            replaced: import.replaces,
            tree: Digest::default(),
        };
        // Before anything is copied for it.
        decide::decide(&session, Input::Import(fact.clone()))?;
        self.settle_imports(id, session.imported).await?;
        let folder = workspace::path(&self.0.data, id);
        if !workspace::is_there(&folder) {
            let folder = folder.display();
            return Err(HostError::Machine(format!(
                "the workspace of {id} is gone: put it back at {folder}"
            )));
        }
        let bring = Bring {
            data: self.0.data.clone(),
            session: id.clone(),
            epoch: lease.epoch,
            from: import.from.clone(),
            replaces: import.replaces,
            quota: workspace::quota(&self.rules()?.limits.workspace),
        };
        let staged = holding(keeper, move || staged::stage(&bring)).await??;
        let copied = staged.copied;
        fact = WorkspaceImported {
            files: copied.files,
            bytes: copied.bytes,
            left_out: copied.left_out,
            tree: staged.tree,
            ..fact
        };
        if let Err(error) = keeper.ensure().await {
            staged.discard();
            return Err(lost(error));
        }
        // If it is not known whether this was written, what is made stays for anyone who reads the journal next.
        self.announce(lease, &mut session, fact.clone()).await?;
        put(staged).await.map_err(|error| {
            HostError::Machine(format!(
                "the import is in the journal, and finished when {id} is next loaded: {error}"
            ))
        })?;
        Ok(fact)
    }

    async fn announce(
        &self,
        lease: &Lease,
        session: &mut Session,
        fact: WorkspaceImported,
    ) -> Result<(), HostError> {
        let expected = session.head;
        let drafts = decide::decide(session, Input::Import(fact))?.entries;
        let records = self.seal(session, lease.epoch, drafts)?;
        let append = Append {
            session: lease.session.clone(),
            epoch: lease.epoch,
            expected,
            records,
            taken: Vec::new(),
            inbox_through: None,
            state: None,
            blobs: Vec::new(),
            projection: Projection::of(session),
        };
        Ok(self.0.store.append(append).await?)
    }

    /// Finishes what the journal says of imports. For who holds the session, before it is run.
    pub(super) async fn settle_imports(
        &self,
        id: &SessionId,
        announced: Option<Digest>,
    ) -> Result<(), HostError> {
        let (data, id) = (self.0.data.clone(), id.clone());
        let settled = spawn_blocking(move || staged::settle(&data, &id, announced)).await;
        Ok(settled.map_err(|error| HostError::Machine(error.to_string()))??)
    }
}

async fn put(staged: Staged) -> Result<(), HostError> {
    let put = spawn_blocking(move || staged.put()).await;
    Ok(put.map_err(|error| HostError::Machine(error.to_string()))??)
}

/// Does something long, and keeps the lease meanwhile.
async fn holding(
    keeper: &mut Keeper,
    work: impl FnOnce() -> Result<Staged, WorkspaceError> + Send + 'static,
) -> Result<Result<Staged, WorkspaceError>, HostError> {
    let mut work = spawn_blocking(work);
    loop {
        tokio::select! {
            done = &mut work => return done.map_err(|error| HostError::Machine(error.to_string())),
            () = tokio::time::sleep(POLL_INTERVAL) => {
                if keeper.is_due() {
                    keeper.renew().await.map_err(lost)?;
                }
            }
        }
    }
}

fn lost(error: LeaseError) -> HostError {
    match error {
        LeaseError::Store(error) => error.into(),
        lost @ LeaseError::Lost => HostError::Machine(lost.to_string()),
    }
}
