//! What is installed, in memory.

use rewake_core::ids::Digest;

use super::{All, MemoryStore};
use crate::ports::{Answer, Install, Installed, Installs};
use crate::{Result, checks};

impl Installs for MemoryStore {
    fn install(&self, install: Install) -> Answer<'_, ()> {
        Box::pin(std::future::ready(self.lock().put(install)))
    }

    fn installed<'a>(&'a self, project: &'a str) -> Answer<'a, Vec<Installed>> {
        let all = self.lock();
        let of_project = all.installed.iter().rev().filter(|(name, _)| name == project);
        let mut found: Vec<Installed> = of_project.map(|(_, installed)| installed.clone()).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name).then(b.installed_at.cmp(&a.installed_at)));
        Box::pin(std::future::ready(Ok(found)))
    }

    fn uninstall<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, ()> {
        Box::pin(std::future::ready(self.lock().take_out(project, digest)))
    }
}

impl All {
    fn put(&mut self, install: Install) -> Result<()> {
        checks::project(&install.project)?;
        let Install { project, digest, source, by, instead_of } = install;
        let bundle = self.bundles.iter().map(|(name, _)| name).find(|name| name.digest == digest);
        let Some(bundle) = bundle.cloned() else { return Err(checks::no_bundle(&digest)) };
        let of_project = || self.installed.iter().filter(|(name, _)| *name == project).map(|(_, one)| one);
        let there = of_project().find(|one| one.name == bundle.name && one.version == bundle.version);
        if there.is_some_and(|there| there.digest != digest && Some(there.digest) != instead_of) {
            return Err(checks::version_taken(&bundle.name, &bundle.version));
        }
        let is_there = there.is_some_and(|there| there.digest == digest);
        if let Some(replaced) = instead_of.filter(|replaced| !of_project().any(|one| one.digest == *replaced))
        {
            return Err(checks::not_installed(&replaced));
        }
        if let Some(replaced) = instead_of.filter(|replaced| *replaced != digest) {
            self.installed.retain(|(name, one)| *name != project || one.digest != replaced);
            self.forget(&replaced);
        }
        if !is_there {
            let (name, version, installed_at) = (bundle.name, bundle.version, self.now());
            let installed = Installed { name, version, digest, source, by, installed_at };
            self.installed.push((project, installed));
        }
        Ok(())
    }

    fn take_out(&mut self, project: &str, digest: &Digest) -> Result<()> {
        let is_it = |(name, one): &(String, Installed)| name == project && one.digest == *digest;
        if !self.installed.iter().any(is_it) {
            return Err(checks::not_installed(digest));
        }
        let running: Vec<String> = self
            .order
            .iter()
            .rev()
            .filter(|id| self.sessions.get(id).is_some_and(|kept| kept.names(digest) && !kept.has_ended()))
            .map(ToString::to_string)
            .collect();
        if !running.is_empty() {
            return Err(checks::bundle_in_use(&running));
        }
        self.installed.retain(|one| !is_it(one));
        self.forget(digest);
        Ok(())
    }

    /// Drops a bundle that nothing has any more.
    fn forget(&mut self, digest: &Digest) {
        let is_installed = self.installed.iter().any(|(_, one)| one.digest == *digest);
        let is_named = self.sessions.values().any(|kept| kept.names(digest));
        if !is_installed && !is_named {
            self.bundles.retain(|(name, _)| name.digest != *digest);
        }
    }
}
