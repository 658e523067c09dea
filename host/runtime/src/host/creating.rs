//! Creating a session: everything it will run with is pinned and kept, and its first entry is the last thing
//! that is written. What can refuse it comes before anything is kept.

use std::path::Path;

use rewake_core::codec::{self, Record, Seal};
use rewake_core::decide::{self, Input};
use rewake_core::entry::Draft;
use rewake_core::fact::Created;
use rewake_core::ids::SessionId;
use rewake_core::session::Session;
use rewake_store::{self as store, Projection};

use super::install::kept;
use super::{Host, HostError, Made, trust, ulid};
use crate::PROJECT;
use crate::plan::{self, NewSession, Plan};
use rewake_policy::config::Rules;
use rewake_sandbox::baseline::Baseline;
use rewake_sandbox::workspace::{self, Copied, WorkspaceError};

impl Host {
    /// Creates a session; it is not loaded. Everything it will run with is pinned and kept.
    ///
    /// # Errors
    /// If a bundle is not as it must be, or something cannot be kept. Nothing is then created.
    pub async fn create(&self, new: &NewSession) -> Result<Made, HostError> {
        let inner = &self.0;
        if let Some(from) = new.workspace.as_ref().filter(|from| !from.is_dir()) {
            return Err(WorkspaceError::NoFolder(from.clone()).into());
        }
        let rules = self.rules()?;
        let Plan { created, bundles, script, .. } = self.plan(&rules, new).await?;
        let id = SessionId::parse(&format!("ses_{}", ulid()?))
            .map_err(|bad| HostError::Machine(bad.to_string()))?;
        let (records, projection) = self.first_entries(&id, created.clone())?;
        let made = async {
            let copied = self.fill_workspace(&id, new.workspace.as_deref(), &rules).await?;
            for bundle in &bundles {
                inner.store.put_bundle(kept(bundle)).await?;
            }
            if let Some(script) = script {
                inner.store.put_blob(PROJECT, script).await?;
            }
            self.note_baseline(&id, new.workspace.as_deref()).await?;
            workspace::keep(&inner.data, &id)?;
            let entry = records.first().map(|record| record.hash).unwrap_or_default();
            let vouchers = trust::vouch_for(&inner.rules.trust(&rules), &id, &entry, &created)?;
            let new = store::NewSession {
                session: id.clone(),
                project: PROJECT.to_owned(),
                epoch: 0,
                records,
                projection,
                bundles: created.bundles.iter().map(|bundle| bundle.digest).collect(),
                vouchers,
            };
            inner.store.create(new).await?;
            Ok(Made { id: id.clone(), created, copied })
        };
        made.await.inspect_err(|_| workspace::discard(&inner.data, &id))
    }

    pub(super) async fn plan(&self, rules: &Rules, new: &NewSession) -> Result<Plan, HostError> {
        let set = self.gather(new).await?;
        let installed = self.installed().await?;
        let plan = plan::plan(&self.0.components, rules, new, &set, &installed).await?;
        self.warn(&plan.warnings);
        Ok(plan)
    }

    async fn fill_workspace(
        &self,
        id: &SessionId,
        from: Option<&Path>,
        rules: &Rules,
    ) -> Result<Copied, HostError> {
        let folder = workspace::create(&self.0.data, id)?;
        let Some(from) = from.map(Path::to_owned) else { return Ok(Copied::default()) };
        let quota = workspace::quota(&rules.limits.workspace);
        let copied = tokio::task::spawn_blocking(move || workspace::copy_in(&from, &folder, quota)).await;
        Ok(copied.map_err(|error| HostError::Machine(error.to_string()))??)
    }

    async fn note_baseline(&self, id: &SessionId, from: Option<&Path>) -> Result<(), HostError> {
        let (data, id, from) = (self.0.data.clone(), id.clone(), from.map(Path::to_owned));
        let noted = tokio::task::spawn_blocking(move || {
            Baseline::note(&data, &id, &workspace::new_path(&data, &id), from.as_deref())
        });
        let noted = noted.await.map_err(|error| HostError::Machine(error.to_string()))?;
        noted.map_err(|error| HostError::Machine(format!("noting what the workspace holds: {error}")))
    }

    /// A session's first transaction, sealed.
    fn first_entries(
        &self,
        id: &SessionId,
        created: Created,
    ) -> Result<(Vec<Record>, Projection), HostError> {
        let mut session = Session::new(id.clone());
        let decision = decide::decide(&session, Input::Create(Box::new(created)))?;
        let records = self.seal(&mut session, 0, decision.entries)?;
        Ok((records, Projection::of(&session)))
    }

    /// Seals entries that no driver writes, and folds them.
    pub(super) fn seal(
        &self,
        session: &mut Session,
        epoch: u64,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Record>, HostError> {
        let mut records = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|error| HostError::Machine(error.to_string()))?;
            let seal = Seal { epoch, at: self.0.store.now(), salt };
            let (entry, record) = codec::seal(&session.id, session.head, seal, draft)?;
            session.apply(&entry).map_err(|corrupt| HostError::Machine(corrupt.to_string()))?;
            records.push(record);
        }
        Ok(records)
    }
}
