//! What comes while sessions run: schemas and values, addresses, answers of models, snapshots.

use rewake_core::grant::{HttpGrant, Scheme};
use serde_json::Value;

use super::SHOWN_BYTES_MAX;
use crate::egress::ModelAddress;
pub use crate::providers::fuzzing::{scrubbed, stream};
use crate::schema::{Problem, Schema};
use crate::{egress, load};

/// A schema on the first line, and a value on the rest.
pub fn schema(text: &str) {
    let (schema, value) = text.split_once('\n').unwrap_or((text, "null"));
    let schema = match Schema::compile(schema) {
        Ok(schema) => schema,
        Err(problems) => {
            assert!(!problems.is_empty(), "a refusal says why");
            return problems.iter().for_each(bounded);
        }
    };
    let Ok(value) = serde_json::from_str::<Value>(value) else { return };
    let fits = schema.validate(&value);
    assert_eq!(schema.validate(&value), fits, "the same value fits or not");
    if let Err(problem) = fits {
        bounded(&problem);
        let is_there = value.pointer(&problem.at).is_some() || problem.what.contains("missing");
        assert!(is_there || problem.what.contains("has") || problem.at.contains('/'), "{problem}");
    }
}

fn bounded(problem: &Problem) {
    assert!(!problem.what.is_empty());
    assert!(problem.to_string().len() <= SHOWN_BYTES_MAX, "{} bytes are told", problem.to_string().len());
}

/// URLs that guests, redirects and operators write.
pub fn urls(text: &str) {
    let (text, location) = text.split_once('\n').unwrap_or((text, "/"));
    let grant = HttpGrant {
        scheme: Scheme::Https,
        host: "*".into(),
        methods: vec!["GET".into()],
        honours_key: false,
        secret: None,
    };
    if let Ok(address) = ModelAddress::parse(text) {
        assert_eq!(ModelAddress::parse(&format!("{address:?}")), Ok(address));
    }
    if let Ok(target) = egress::Target::parse(text) {
        assert!(target.origin().starts_with("http"), "{}", target.origin());
        assert!(!target.path().contains(['\n', '\r', ' ']), "{:?}", target.path());
        assert!(!target.authority().contains(['\n', '\r', ' ', '@', '/']), "{:?}", target.authority());
        if target.permit(std::slice::from_ref(&grant), "GET").is_ok() {
            assert_eq!(target.scheme, Scheme::Https);
        }
        assert!(target.permit(&[], "GET").is_err(), "without a grant nothing is permitted");
        if let Ok(next) = target.join(location) {
            assert!(next.is_same_origin(&next));
        }
    }
}

/// A fold that was kept, with a digest that fits: somebody may have made both.
pub fn snapshot(bytes: &[u8]) {
    let mut whole = rewake_core::ids::Digest::of(bytes).0.to_vec();
    whole.extend(bytes);
    if let Ok(session) = load::open_snapshot(&whole) {
        let sealed = load::seal_snapshot(&session);
        assert_eq!(load::open_snapshot(&sealed), Ok(session), "it is read as it was written");
    }
}
