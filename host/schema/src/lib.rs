//! JSON Schemas of tools: whether one is well-formed, and whether a value fits it. References lead to places
//! in the schema itself; nothing is fetched. Schemas come from bundles and values from models, so both are
//! bounded: a check that takes too much is given up (ADR 10). Knows no tools.

mod check;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use regex::Regex;
use serde_json::Value;

/// Bytes of a place and of what is wrong there, as they are told.
const SHOWN_BYTES_MAX: usize = 2_000;

/// A schema that can be checked against.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The first is the whole; the others are named by their index.
    nodes: Vec<Node>,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A JSON Pointer into the schema, or into the value that does not fit: empty for the whole.
    pub at: String,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { at, what } = self;
        if at.is_empty() { write!(f, "it {what}") } else { write!(f, "`{at}` {what}") }
    }
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Everything about it that is none of JSON Schema, or that this host cannot check.
    pub fn compile(text: &str) -> Result<Schema, Vec<Problem>> {
        read::read(text)
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// The first thing that does not; or that telling takes too much.
    pub fn validate(&self, value: &Value) -> Result<(), Problem> {
        check::check(self, value)
    }
}

/// A type that a value can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    String,
    Array,
    Object,
    Number,
    Integer,
}

const TYPES: [(&str, Type); 7] = [
    ("null", Type::Null),
    ("boolean", Type::Boolean),
    ("string", Type::String),
    ("array", Type::Array),
    ("object", Type::Object),
    ("number", Type::Number),
    ("integer", Type::Integer),
];

/// A count between two, both allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    min: Option<u64>,
    max: Option<u64>,
}

/// A comparison with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Least,
    More,
    Most,
    Less,
    MultipleOf,
}

const BOUNDS: [(&str, Bound); 5] = [
    ("minimum", Bound::Least),
    ("exclusiveMinimum", Bound::More),
    ("maximum", Bound::Most),
    ("exclusiveMaximum", Bound::Less),
    ("multipleOf", Bound::MultipleOf),
];

/// One schema in the schema: what it says of a value. Others are named by their index.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Nothing fits.
    never: bool,
    /// None: any.
    types: Vec<Type>,
    values: Option<Vec<Value>>,
    bounds: Vec<(Bound, f64)>,
    chars: Counts,
    pattern: Option<Regex>,
    /// The first items, one by one; then the others.
    first: Vec<usize>,
    others: Option<usize>,
    contains: Option<(usize, Counts)>,
    items: Counts,
    unique: bool,
    required: Vec<String>,
    fields: BTreeMap<String, usize>,
    patterns: Vec<(Regex, usize)>,
    additional: Option<usize>,
    names: Option<usize>,
    count: Counts,
    needs: BTreeMap<String, Vec<String>>,
    implies: BTreeMap<String, usize>,
    all: Vec<usize>,
    any: Vec<usize>,
    one: Vec<usize>,
    not: Option<usize>,
    when: Option<usize>,
    then: Option<usize>,
    otherwise: Option<usize>,
}
