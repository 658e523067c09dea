//! `rewake bundle`: what authors and operators do with bundles. Each subcommand has its file; this one
//! knows only which there are.

use clap::Subcommand;

use crate::data::Places;
use crate::exit::{Failure, Outcome};

/// What can be done with bundles.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {}

/// `rewake bundle`.
pub(crate) async fn bundle(_places: &Places, command: BundleCommand) -> Result<Outcome, Failure> {
    match command {}
}
