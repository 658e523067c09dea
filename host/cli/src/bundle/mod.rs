//! `rewake bundle`: what authors and operators do with bundles. Each subcommand has its file; this one
//! knows only which there are.

mod approve;
mod build;
mod call;
mod check;
mod inspect;
mod install;
mod installed;
mod new;
mod pack;
mod test;

use clap::Subcommand;

use crate::data::Places;
use crate::exit::{Failure, Outcome};

/// What can be done with bundles.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Make a folder with a bundle that builds and passes its own tests
    New(new::New),
    /// Run each component's `build`, collect what it makes, and write bundle.lock
    Build(build::Build),
    /// Say what is wrong with a bundle, and what is most likely not meant
    Check(check::Check),
    /// Show what a bundle is, what it asks for, and what it would get here
    Inspect(inspect::Inspect),
    /// Call one of a bundle's tools once, in the sandbox and outside of any session
    Call(call::Call),
    /// Run a bundle's tests (tests/*.toml) in the sandbox
    Test(test::Test),
    /// Pack a built bundle into one file
    Pack(pack::Pack),
    /// Install a built bundle, once what it asks for is approved
    Install(install::Install),
    /// List what is installed
    List(installed::List),
    /// Take a bundle out of what is installed
    Remove(installed::Remove),
    /// Put another version in the place of an installed one
    Update(install::Update),
}

/// `rewake bundle`.
pub(crate) async fn bundle(places: &Places, command: BundleCommand) -> Result<Outcome, Failure> {
    match command {
        BundleCommand::New(asked) => new::new(&asked),
        BundleCommand::Build(asked) => build::build(places, &asked).await,
        BundleCommand::Check(asked) => check::check(places, &asked).await,
        BundleCommand::Inspect(asked) => inspect::inspect(places, &asked).await,
        BundleCommand::Call(asked) => call::call(places, &asked).await,
        BundleCommand::Test(asked) => test::test(places, &asked).await,
        BundleCommand::Pack(asked) => pack::pack(&asked),
        BundleCommand::Install(asked) => install::install(places, &asked).await,
        BundleCommand::List(asked) => installed::list(places, &asked).await,
        BundleCommand::Remove(asked) => installed::remove(places, &asked).await,
        BundleCommand::Update(asked) => install::update(places, &asked).await,
    }
}
