//! Reads a schema: every keyword that says something of values, and what is wrong with any. What is unknown
//! says nothing, as JSON Schema has it. Follows no reference out of the schema.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use rewake_core::limits::cut;
use serde_json::{Map, Value};

use super::{BOUNDS, Bound, Counts, Node, Problem, SHOWN_BYTES_MAX, Schema, TYPES};

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 16 << 10;
/// Patterns of a schema.
const PATTERNS_MAX: usize = 256;
/// Bytes of one pattern as it is written, and of all of a schema: what a class stands for is worked out before it is
/// known to be too large.
const PATTERN_TEXT_BYTES_MAX: usize = 4 << 10;
const PATTERN_TEXTS_BYTES_MAX: usize = 16 << 10;
/// Bytes of the pointers to all schemas of a schema: one long name can stand before many of them.
const POINTERS_BYTES_MAX: usize = 16 << 20;
/// Problems that are told together.
const PROBLEMS_MAX: usize = 20;
/// Keywords that say something of values which this host cannot check.
const UNKNOWN: [(&str, &str); 4] = [
    ("unevaluatedProperties", "write `additionalProperties`"),
    ("unevaluatedItems", "write `items`"),
    ("$dynamicRef", "write `$ref`"),
    ("$recursiveRef", "write `$ref`"),
];

pub(super) fn read(text: &str) -> Result<Schema, Vec<Problem>> {
    let whole = serde_json::from_str(text);
    let whole: Value = whole.map_err(|error| vec![problem("", format!("is not JSON: {error}"))])?;
    let mut reader = Reader::default();
    reader.schema(&whole, String::new());
    let wanted = std::mem::take(&mut reader.wanted);
    for (node, target, at) in wanted {
        match reader.target(&target) {
            Some(found) => reader.nodes[node].all.push(found),
            None if target.starts_with('#') => {
                reader.wrong(&at, format!("refers to {target:?}, and there is no schema there"));
            }
            None => reader.wrong(
                &at,
                format!("refers to {target:?}, which is not in the schema itself: nothing is fetched"),
            ),
        }
    }
    if reader.problems.is_empty() { Ok(Schema { nodes: reader.nodes }) } else { Err(reader.problems) }
}

fn problem(at: &str, what: impl Into<String>) -> Problem {
    Problem { at: at.to_owned(), what: what.into() }
}

#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    /// Where each schema stands, by its pointer.
    places: BTreeMap<String, usize>,
    /// Those that have a name.
    anchors: BTreeMap<String, usize>,
    /// References, to be found once all is read: whose, to what, and where they stand.
    wanted: Vec<(usize, String, String)>,
    patterns: usize,
    pattern_bytes: usize,
    pointer_bytes: usize,
    problems: Vec<Problem>,
}

impl Reader {
    fn wrong(&mut self, at: &str, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem(&cut(at, SHOWN_BYTES_MAX), cut(&what.into(), SHOWN_BYTES_MAX)));
        }
    }

    /// Whether there is no room for the pointer to another schema.
    fn is_full(&self) -> bool {
        self.pointer_bytes > POINTERS_BYTES_MAX
    }

    /// What a reference leads to: a JSON Pointer, or a name.
    fn target(&self, reference: &str) -> Option<usize> {
        let pointer = reference.strip_prefix('#')?;
        let pointer = unescaped(pointer)?;
        if pointer.is_empty() || pointer.starts_with('/') {
            self.places.get(&pointer).copied()
        } else {
            self.anchors.get(&pointer).copied()
        }
    }

    /// Reads the schema at a place; returns its index.
    fn schema(&mut self, value: &Value, at: String) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.pointer_bytes += at.len();
        if self.is_full() {
            self.wrong(&at, "is one schema too many under names as long as these");
            return index;
        }
        let node = match value {
            Value::Bool(true) => Node::default(),
            Value::Bool(false) => Node { never: true, ..Node::default() },
            Value::Object(rules) => self.node(index, rules, &at),
            _ => {
                self.wrong(&at, "is not a schema: neither an object nor true or false");
                Node::default()
            }
        };
        self.nodes[index] = node;
        self.places.insert(at, index);
        index
    }

    fn node(&mut self, index: usize, rules: &Map<String, Value>, at: &str) -> Node {
        for (key, instead) in UNKNOWN {
            if rules.contains_key(key) {
                self.wrong(&under(at, key), format!("cannot be checked by this host; {instead}"));
            }
        }
        if let Some(target) = self.text(rules, "$ref", at) {
            self.wanted.push((index, target, under(at, "$ref")));
        }
        if let Some(name) = self.text(rules, "$anchor", at) {
            self.anchors.insert(name, index);
        }
        // Nobody is told what fits them, unless a reference leads there.
        for key in ["$defs", "definitions"] {
            self.named(rules, key, at);
        }
        let mut node = Node { types: self.types(rules, at), ..Node::default() };
        node.values = match rules.get("enum") {
            Some(Value::Array(values)) => Some(values.clone()),
            Some(_) => {
                self.wrong(&under(at, "enum"), "must be a list of values");
                None
            }
            None => rules.get("const").map(|only| vec![only.clone()]),
        };
        self.of_scalars(&mut node, rules, at);
        self.of_lists(&mut node, rules, at);
        self.of_objects(&mut node, rules, at);
        node.all = self.list(rules, "allOf", at);
        node.any = self.list(rules, "anyOf", at);
        node.one = self.list(rules, "oneOf", at);
        node.not = self.sub(rules, "not", at);
        node.when = self.sub(rules, "if", at);
        node.then = self.sub(rules, "then", at);
        node.otherwise = self.sub(rules, "else", at);
        node
    }

    fn of_scalars(&mut self, node: &mut Node, rules: &Map<String, Value>, at: &str) {
        for (key, bound) in BOUNDS {
            match rules.get(key) {
                None => {}
                Some(Value::Number(number)) => {
                    let number = number.as_f64().unwrap_or(f64::NAN);
                    if bound == Bound::MultipleOf && number <= 0.0 {
                        self.wrong(&under(at, key), "must be more than 0");
                    } else {
                        node.bounds.push((bound, number));
                    }
                }
                Some(_) => self.wrong(&under(at, key), "must be a number"),
            }
        }
        node.chars = self.counts(rules, ["minLength", "maxLength"], at);
        if let Some(pattern) = self.text(rules, "pattern", at) {
            node.pattern = self.pattern(&pattern, &under(at, "pattern"));
        }
    }

    fn of_lists(&mut self, node: &mut Node, rules: &Map<String, Value>, at: &str) {
        node.first = self.list(rules, "prefixItems", at);
        // What `items` as a list meant until 2019 is `prefixItems` today.
        if rules.get("items").is_some_and(Value::is_array) {
            node.first = self.list(rules, "items", at);
            node.others = self.sub(rules, "additionalItems", at);
        } else {
            node.others = self.sub(rules, "items", at);
        }
        let counts = self.counts(rules, ["minContains", "maxContains"], at);
        let counts = Counts { min: counts.min.or(Some(1)), ..counts };
        node.contains = self.sub(rules, "contains", at).map(|sub| (sub, counts));
        node.items = self.counts(rules, ["minItems", "maxItems"], at);
        node.unique = match rules.get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(_) => {
                self.wrong(&under(at, "uniqueItems"), "must be true or false");
                false
            }
        };
    }

    fn of_objects(&mut self, node: &mut Node, rules: &Map<String, Value>, at: &str) {
        node.required = self.texts(rules.get("required"), &under(at, "required"));
        node.fields = self.named(rules, "properties", at);
        for (pattern, sub) in self.named(rules, "patternProperties", at) {
            let at = under(&under(at, "patternProperties"), &pattern);
            node.patterns.extend(self.pattern(&pattern, &at).map(|pattern| (pattern, sub)));
        }
        node.additional = self.sub(rules, "additionalProperties", at);
        node.names = self.sub(rules, "propertyNames", at);
        node.count = self.counts(rules, ["minProperties", "maxProperties"], at);
        if let Some(needs) = self.object(rules, "dependentRequired", at) {
            for (field, names) in needs {
                let at = under(&under(at, "dependentRequired"), field);
                node.needs.insert(field.clone(), self.texts(Some(names), &at));
            }
        }
        node.implies = self.named(rules, "dependentSchemas", at);
    }

    fn types(&mut self, rules: &Map<String, Value>, at: &str) -> Vec<super::Type> {
        let names: Vec<&Value> = match rules.get("type") {
            None => return Vec::new(),
            Some(Value::Array(names)) => names.iter().collect(),
            Some(name) => vec![name],
        };
        let known = |name: &str| TYPES.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
        let found: Option<Vec<_>> = names.iter().map(|name| name.as_str().and_then(known)).collect();
        let once = |found: Vec<super::Type>| {
            let types = TYPES.iter().map(|(_, known)| *known);
            types.filter(|known| found.contains(known)).collect::<Vec<_>>()
        };
        found.map(once).filter(|found| !found.is_empty()).unwrap_or_else(|| {
            let all = TYPES.map(|(name, _)| name).join(", ");
            self.wrong(&under(at, "type"), format!("must be of {all}, or a list of them"));
            Vec::new()
        })
    }

    fn sub(&mut self, rules: &Map<String, Value>, key: &str, at: &str) -> Option<usize> {
        rules.get(key).map(|value| self.schema(value, under(at, key)))
    }

    fn list(&mut self, rules: &Map<String, Value>, key: &str, at: &str) -> Vec<usize> {
        let at = under(at, key);
        match rules.get(key) {
            None => Vec::new(),
            Some(Value::Array(all)) if !all.is_empty() => {
                let mut found = Vec::new();
                for (n, one) in all.iter().enumerate() {
                    if self.is_full() {
                        break;
                    }
                    found.push(self.schema(one, format!("{at}/{n}")));
                }
                found
            }
            Some(_) => {
                self.wrong(&at, "must be a list of schemas, and not empty");
                Vec::new()
            }
        }
    }

    fn named(&mut self, rules: &Map<String, Value>, key: &str, at: &str) -> BTreeMap<String, usize> {
        let Some(all) = self.object(rules, key, at) else { return BTreeMap::new() };
        let at = under(at, key);
        let mut found = BTreeMap::new();
        for (name, value) in all {
            if self.is_full() {
                break;
            }
            found.insert(name.clone(), self.schema(value, under(&at, name)));
        }
        found
    }

    fn object<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        key: &str,
        at: &str,
    ) -> Option<&'a Map<String, Value>> {
        match rules.get(key)? {
            Value::Object(all) => Some(all),
            _ => {
                self.wrong(&under(at, key), "must be an object");
                None
            }
        }
    }

    fn text(&mut self, rules: &Map<String, Value>, key: &str, at: &str) -> Option<String> {
        match rules.get(key)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong(&under(at, key), "must be a text");
                None
            }
        }
    }

    fn texts(&mut self, value: Option<&Value>, at: &str) -> Vec<String> {
        let Some(value) = value else { return Vec::new() };
        let texts = value
            .as_array()
            .and_then(|all| all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<_>>());
        texts.unwrap_or_else(|| {
            self.wrong(at, "must be a list of texts");
            Vec::new()
        })
    }

    fn counts(&mut self, rules: &Map<String, Value>, keys: [&str; 2], at: &str) -> Counts {
        let [min, max] = keys.map(|key| {
            let value = rules.get(key)?;
            // 2.0 is a whole number here as well.
            let whole = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
            let count = value.as_u64().or(whole.map(|number| number as u64));
            if count.is_none() {
                self.wrong(&under(at, key), "must be a whole number, and not less than 0");
            }
            count
        });
        Counts { min, max }
    }

    fn pattern(&mut self, pattern: &str, at: &str) -> Option<Regex> {
        self.patterns += 1;
        self.pattern_bytes += pattern.len();
        if pattern.len() > PATTERN_TEXT_BYTES_MAX || self.pattern_bytes > PATTERN_TEXTS_BYTES_MAX {
            self.wrong(at, "is a pattern that is too large, or one of patterns that are too large together");
            return None;
        }
        if self.patterns > PATTERNS_MAX {
            self.wrong(at, format!("is one pattern too many: a schema has at most {PATTERNS_MAX}"));
            return None;
        }
        match RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build() {
            Ok(compiled) => Some(compiled),
            Err(regex::Error::CompiledTooBig(_)) => {
                self.wrong(at, "is a pattern that is too large");
                None
            }
            Err(error) => {
                // The last line says why; those before show where.
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.wrong(at, format!("is a pattern that does not compile: {why}"));
                None
            }
        }
    }
}

/// The pointer to a key.
pub(super) fn under(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// A reference's fragment without its percent signs.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = fragment.bytes();
    let mut plain = Vec::with_capacity(fragment.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            plain.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            plain.push(byte);
        }
    }
    String::from_utf8(plain).ok()
}
