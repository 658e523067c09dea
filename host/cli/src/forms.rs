//! Forms of values on the command line that several commands have: how bundles and sessions are named.

use std::ffi::OsStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use rewake_bundle::Locator;
use rewake_core::ids::SessionId;

/// How a bundle is named, wherever it is.
pub(crate) const LOCATOR: Located = Located;

/// Reads a [`Locator`]; paths need not be UTF-8.
#[derive(Clone, Copy)]
pub(crate) struct Located;

impl TypedValueParser for Located {
    type Value = Locator;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Locator, clap::Error> {
        OsStringValueParser::new().try_map(|text| locator(&text)).parse_ref(command, arg, value)
    }
}

pub(crate) fn locator(text: &OsStr) -> Result<Locator, String> {
    Locator::parse(text).map_err(|invalid| invalid.to_string())
}

pub(crate) fn session(text: &str) -> Result<SessionId, String> {
    SessionId::parse(text).map_err(|bad| format!("{bad}; `rewake sessions` lists them"))
}
