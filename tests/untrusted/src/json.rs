//! JSON that is corrupted as a tree: it stays JSON, and says something else.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// A change of one value in a tree.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    how: u8,
    at: Index,
    other: Index,
}

pub(crate) fn spoilt(inputs: &[Vec<u8>]) -> impl Strategy<Value = String> + use<> {
    let read = |input: &Vec<u8>| serde_json::from_slice(input).expect("the sample is JSON");
    let samples: Vec<Value> = inputs.iter().map(read).collect();
    let changes = proptest::collection::vec(change(), 0..=super::EDITS_MAX);
    (any::<Index>(), changes).prop_map(move |(which, changes)| {
        let mut whole = which.get(&samples).clone();
        for change in &changes {
            change.apply(&mut whole);
        }
        whole.to_string()
    })
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let change = (0..7_u8, any::<Index>(), any::<Index>());
    change.prop_map(|(how, at, other)| Change { how, at, other })
}

/// Changes the JSON that a line of a text ends with, if there is such.
pub(crate) fn spoil_line(text: &mut String, line: &Index, change: &Change) {
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(nth) = lines.len().checked_sub(1).map(|last| line.index(last + 1)) else { return };
    let at = lines[nth].find(['{', '[']).unwrap_or_default();
    let Ok(mut value) = serde_json::from_str(&lines[nth][at..]) else { return };
    change.apply(&mut value);
    let spoilt = format!("{}{value}", &lines[nth][..at]);
    lines[nth] = &spoilt;
    *text = lines.join("\n");
}

/// Values that are of the wrong kind nearly everywhere, or at the edge of the right one.
fn odd(which: &Index) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(1.5),
        json!(1e300),
        json!(i64::MIN),
        json!(u32::MAX),
        json!(u64::from(u32::MAX) + 1),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("\u{0}"),
        json!("\u{1b}[2J\u{202e}"),
        json!("💥"),
        json!("x".repeat(5_000)),
        json!([]),
        json!({}),
        json!([[]]),
        json!({ "": "" }),
        json!("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
    ];
    which.get(&values).clone()
}

impl Change {
    fn apply(&self, whole: &mut Value) {
        let count = nodes(whole);
        let copied = nth(whole, &mut self.other.index(count)).cloned().unwrap_or_default();
        let Some(value) = nth(whole, &mut self.at.index(count)) else { return };
        match (self.how, value) {
            (0, value) => *value = odd(&self.other),
            (1, value) => *value = copied,
            (2, Value::Object(fields)) if !fields.is_empty() => {
                let key = fields.keys().nth(self.other.index(fields.len())).cloned();
                fields.remove(&key.unwrap_or_default());
            }
            (2, Value::Array(items)) if !items.is_empty() => {
                items.remove(self.other.index(items.len()));
            }
            (3, Value::Object(fields)) if !fields.is_empty() => {
                let key = fields.keys().nth(self.other.index(fields.len())).cloned().unwrap_or_default();
                let moved = fields.remove(&key).unwrap_or_default();
                fields.insert(format!("{key}_"), moved);
            }
            (3 | 4, Value::Array(items)) => items.push(copied),
            (4, Value::Object(fields)) => {
                fields.insert("newer".into(), copied);
            }
            (5, Value::Array(items)) if !items.is_empty() => {
                let (a, b) = (self.other.index(items.len()), items.len() - 1);
                items.swap(a, b);
            }
            (5, Value::String(text)) => text.push_str(&copied.to_string()),
            (6, value) => {
                if let Some(number) = value.as_u64() {
                    *value = json!(number.wrapping_add(1));
                }
            }
            (_, value) => *value = odd(&self.other),
        }
    }
}

fn children(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.iter_mut().map(|(_, value)| value).collect(),
        _ => Vec::new(),
    }
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        _ => 0,
    }
}

/// The value of a number, counted through the tree.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    for child in children(value) {
        let size = nodes(child);
        if *left < size {
            return nth(child, left);
        }
        *left -= size;
    }
    None
}
