//! Checks a value against a schema that was read. Every visit costs something, and so much may be spent: a
//! small schema can ask for more visits than there is time.

use rewake_core::limits::cut;
use serde_json::{Map, Value};

use super::read::under;
use super::{Bound, Counts, Node, Problem, SHOWN_BYTES_MAX, Schema, TYPES, Type};

/// What one check may cost, in about the time that a character takes.
const COST_MAX: u64 = 10_000_000;
/// What visiting one schema costs.
const VISIT_COST: u64 = 100;
/// What looking for a pattern costs, a byte of the text.
const PATTERN_COST: u64 = 64;
/// What looking for a field by its name costs.
const NAME_COST: u64 = 16;
/// Bytes that cost as much as one that is compared, where they are only counted or copied.
const BYTES_A_COST: usize = 16;
/// Schemas inside one another, those of references included.
const LEVELS_MAX: usize = 256;
/// Characters of a value that a message shows.
const SHOWN_CHARS_MAX: usize = 200;

/// Why a value does not fit.
enum Miss {
    Problem(Problem),
    /// Nobody knows: telling takes too much.
    Spent(&'static str),
}

type Fits = Result<(), Miss>;

pub(super) fn check(schema: &Schema, value: &Value) -> Result<(), Problem> {
    let mut run = Run { nodes: &schema.nodes, cost: 0, levels: 0 };
    run.node(0, value, &At::Whole).map_err(|miss| match miss {
        Miss::Problem(Problem { at, what }) => {
            Problem { at: cut(&at, SHOWN_BYTES_MAX), what: cut(&what, SHOWN_BYTES_MAX) }
        }
        Miss::Spent(why) => Problem { at: String::new(), what: why.to_owned() },
    })
}

/// Where in the value; written out only for a message.
enum At<'a> {
    Whole,
    Field(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    fn pointer(&self) -> String {
        match self {
            At::Whole => String::new(),
            At::Field(at, key) => under(&at.pointer(), key),
            At::Item(at, n) => format!("{}/{n}", at.pointer()),
        }
    }

    fn miss(&self, what: impl Into<String>) -> Fits {
        Err(Miss::Problem(Problem { at: self.pointer(), what: what.into() }))
    }
}

struct Run<'s> {
    nodes: &'s [Node],
    cost: u64,
    levels: usize,
}

impl<'s> Run<'s> {
    fn pay(&mut self, cost: u64) -> Fits {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > COST_MAX { Err(Miss::Spent("takes too much to check")) } else { Ok(()) }
    }

    /// Pays for going through so many bytes.
    fn pay_bytes(&mut self, bytes: usize) -> Fits {
        self.pay((bytes / BYTES_A_COST) as u64)
    }

    /// Pays for a problem that is made and not told.
    fn pay_problem(&mut self, problem: &Problem) -> Fits {
        self.pay((problem.at.len() + problem.what.len()) as u64)
    }

    fn node(&mut self, index: usize, value: &Value, at: &At<'_>) -> Fits {
        self.pay(VISIT_COST)?;
        if self.levels == LEVELS_MAX {
            return Err(Miss::Spent("cannot be checked: schema and value lead too deep into each other"));
        }
        self.levels += 1;
        let nodes: &'s [Node] = self.nodes;
        let fits = self.rules(&nodes[index], value, at);
        self.levels -= 1;
        fits
    }

    /// Whether a value fits, where that it does not is no miss.
    fn fits(&mut self, index: usize, value: &Value, at: &At<'_>) -> Result<bool, Miss> {
        match self.node(index, value, at) {
            Ok(()) => Ok(true),
            Err(Miss::Problem(problem)) => {
                self.pay_problem(&problem)?;
                Ok(false)
            }
            Err(spent) => Err(spent),
        }
    }

    fn rules(&mut self, node: &'s Node, value: &Value, at: &At<'_>) -> Fits {
        if node.never {
            return at.miss("must not be there");
        }
        if !node.types.is_empty() && !node.types.iter().any(|wanted| is_type(*wanted, value)) {
            return at.miss(format!("must be of type {}", names(&node.types)));
        }
        if let Some(values) = &node.values {
            let mut is_one = false;
            for wanted in values {
                is_one |= self.same(wanted, value)?;
            }
            if !is_one {
                return at.miss(format!("must be {}", any_of(values)));
            }
        }
        match value {
            Value::Number(number) => number_fits(node, number.as_f64().unwrap_or(f64::NAN), at)?,
            Value::String(text) => self.text(node, text, at)?,
            Value::Array(items) => self.array(node, items, at)?,
            Value::Object(fields) => self.object(node, fields, value, at)?,
            Value::Null | Value::Bool(_) => {}
        }
        for all in &node.all {
            self.node(*all, value, at)?;
        }
        self.choices(node, value, at)
    }

    fn choices(&mut self, node: &'s Node, value: &Value, at: &At<'_>) -> Fits {
        if !node.any.is_empty() {
            let mut closest = None;
            for any in &node.any {
                match self.node(*any, value, at) {
                    Ok(()) => {
                        closest = None;
                        break;
                    }
                    Err(Miss::Problem(problem)) => {
                        self.pay_problem(&problem)?;
                        closest = Some(problem);
                    }
                    Err(spent) => return Err(spent),
                }
            }
            if let Some(problem) = closest {
                return at.miss(format!("fits none of the schemas that it may; not the last, as {problem}"));
            }
        }
        if !node.one.is_empty() {
            let mut fitting = 0;
            for one in &node.one {
                fitting += usize::from(self.fits(*one, value, at)?);
            }
            if fitting != 1 {
                return at.miss(format!("must fit one of {} schemas, and fits {fitting}", node.one.len()));
            }
        }
        if let Some(not) = node.not
            && self.fits(not, value, at)?
        {
            return at.miss("fits a schema that it must not fit");
        }
        if let Some(when) = node.when {
            let follows = if self.fits(when, value, at)? { node.then } else { node.otherwise };
            if let Some(follows) = follows {
                self.node(follows, value, at)?;
            }
        }
        Ok(())
    }

    fn text(&mut self, node: &'s Node, text: &str, at: &At<'_>) -> Fits {
        if node.chars != Counts::default() {
            self.pay_bytes(text.len())?;
            counted(node.chars, text.chars().count(), "characters", at)?;
        }
        if let Some(pattern) = &node.pattern {
            self.pay(PATTERN_COST.saturating_mul(text.len() as u64 + 1))?;
            if !pattern.is_match(text) {
                return at.miss(format!("must match the pattern {:?}", shown(pattern.as_str())));
            }
        }
        Ok(())
    }

    fn array(&mut self, node: &'s Node, items: &[Value], at: &At<'_>) -> Fits {
        counted(node.items, items.len(), "items", at)?;
        for (n, item) in items.iter().enumerate() {
            if let Some(schema) = node.first.get(n).copied().or(node.others) {
                self.node(schema, item, &At::Item(at, n))?;
            }
        }
        if let Some((schema, counts)) = node.contains {
            let mut found = 0;
            for (n, item) in items.iter().enumerate() {
                found += usize::from(self.fits(schema, item, &At::Item(at, n))?);
            }
            counted(counts, found, "items of those that it must have", at)?;
        }
        if node.unique {
            for (n, item) in items.iter().enumerate() {
                for other in &items[..n] {
                    if self.same(item, other)? {
                        return At::Item(at, n).miss("is there twice");
                    }
                }
            }
        }
        Ok(())
    }

    fn object(&mut self, node: &'s Node, fields: &Map<String, Value>, value: &Value, at: &At<'_>) -> Fits {
        counted(node.count, fields.len(), "fields", at)?;
        self.pay(NAME_COST * (node.required.len() + node.needs.len() + node.implies.len()) as u64)?;
        let absent = |names: &'s [String]| names.iter().find(|name| !fields.contains_key(*name));
        if let Some(name) = absent(&node.required) {
            return At::Field(at, name).miss("is missing");
        }
        for (field, needed) in &node.needs {
            self.pay(NAME_COST * needed.len() as u64)?;
            if let Some(name) = absent(needed).filter(|_| fields.contains_key(field)) {
                return At::Field(at, name).miss(format!("is missing, and `{field}` needs it"));
            }
        }
        for (field, implied) in &node.implies {
            if fields.contains_key(field) {
                self.node(*implied, value, at)?;
            }
        }
        for (key, given) in fields {
            let at = At::Field(at, key);
            self.pay_bytes(key.len())?;
            let mut is_known = false;
            if let Some(schema) = node.fields.get(key) {
                is_known = true;
                self.node(*schema, given, &at)?;
            }
            for (pattern, schema) in &node.patterns {
                self.pay(PATTERN_COST.saturating_mul(key.len() as u64 + 1))?;
                if pattern.is_match(key) {
                    is_known = true;
                    self.node(*schema, given, &at)?;
                }
            }
            match node.additional.filter(|_| !is_known) {
                Some(schema) if self.nodes[schema].never => return at.miss("is not known"),
                Some(schema) => self.node(schema, given, &at)?,
                None => {}
            }
            if let Some(names) = node.names {
                self.node(names, &Value::String(key.clone()), &at)?;
            }
        }
        Ok(())
    }

    /// Whether two values are the same: numbers by what they are worth.
    fn same(&mut self, a: &Value, b: &Value) -> Result<bool, Miss> {
        self.pay(1)?;
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => Ok(a == b || a.as_f64() == b.as_f64()),
            (Value::String(a), Value::String(b)) => {
                self.pay(a.len().min(b.len()) as u64)?;
                Ok(a == b)
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b) {
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
                for (key, a) in a {
                    self.pay_bytes(key.len())?;
                    let Some(b) = b.get(key) else { return Ok(false) };
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(a == b),
        }
    }
}

fn is_type(wanted: Type, value: &Value) -> bool {
    match wanted {
        Type::Null => value.is_null(),
        Type::Boolean => value.is_boolean(),
        Type::String => value.is_string(),
        Type::Array => value.is_array(),
        Type::Object => value.is_object(),
        Type::Number => value.is_number(),
        Type::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
    }
}

fn names(types: &[Type]) -> String {
    let named = TYPES.iter().filter(|(_, known)| types.contains(known)).map(|(name, _)| *name);
    named.collect::<Vec<_>>().join(" or ")
}

/// The values that there may be, as far as they are shown; no more than that of them is looked at.
fn any_of(values: &[Value]) -> String {
    let mut room = SHOWN_CHARS_MAX;
    match values {
        [only] => shown(&beginning(only, &mut room).to_string()),
        _ => {
            let mut list = Vec::new();
            for value in values {
                if room == 0 {
                    break;
                }
                list.push(beginning(value, &mut room));
            }
            shown(&format!("one of {}", Value::Array(list)))
        }
    }
}

/// As much of a value as there is room for; a little more than is shown, so that it is seen to be cut.
fn beginning(value: &Value, room: &mut usize) -> Value {
    *room = room.saturating_sub(1);
    match value {
        Value::String(text) => {
            let text: String = text.chars().take(*room + 2).collect();
            *room = room.saturating_sub(text.len());
            text.into()
        }
        Value::Array(items) => {
            let mut list = Vec::new();
            for item in items {
                if *room == 0 {
                    break;
                }
                list.push(beginning(item, room));
            }
            list.into()
        }
        Value::Object(fields) => {
            let mut map = Map::new();
            for (key, field) in fields {
                if *room == 0 {
                    break;
                }
                let key: String = key.chars().take(*room + 2).collect();
                *room = room.saturating_sub(key.len());
                map.insert(key, beginning(field, room));
            }
            map.into()
        }
        other => other.clone(),
    }
}

/// The first characters of a text.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn number_fits(node: &Node, number: f64, at: &At<'_>) -> Fits {
    for (bound, wanted) in &node.bounds {
        let (fits, words) = match bound {
            Bound::Least => (number >= *wanted, "at least"),
            Bound::More => (number > *wanted, "more than"),
            Bound::Most => (number <= *wanted, "at most"),
            Bound::Less => (number < *wanted, "less than"),
            Bound::MultipleOf => {
                let times = number / wanted;
                ((times - times.round()).abs() < 1e-9, "a multiple of")
            }
        };
        if !fits {
            return at.miss(format!("must be {words} {wanted}"));
        }
    }
    Ok(())
}

fn counted(counts: Counts, got: usize, what: &str, at: &At<'_>) -> Fits {
    let got = got as u64;
    match counts {
        Counts { min: Some(min), .. } if got < min => {
            at.miss(format!("has {got} {what}, and needs at least {min}"))
        }
        Counts { max: Some(max), .. } if got > max => {
            at.miss(format!("has {got} {what}, and may have at most {max}"))
        }
        _ => Ok(()),
    }
}
