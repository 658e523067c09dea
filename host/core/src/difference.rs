//! Where two values first differ, said so that a person finds the place: a path, and both values cut around it.
//! Knows JSON; decides nothing.

use std::fmt::Write as _;

use serde_json::Value;

use crate::limits::cut;

/// Bytes of a value that are shown.
const SHOWN_BYTES_MAX: usize = 240;
/// Bytes of a text that are shown before its first difference.
const BEFORE_BYTES_MAX: usize = 60;
/// Texts that are JSON themselves, inside one another, that are looked into.
const TEXTS_MAX: u32 = 4;
/// Bytes of a path.
const PATH_BYTES_MAX: usize = 500;
/// What stands in place of a value where there is none.
const NOTHING: &str = "nothing";

/// The first place in which two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The way to it, such as `uses[0].input.path`; empty, where the values differ as a whole.
    pub path: String,
    /// What is recorded there; cut.
    pub expected: String,
    /// What came; cut.
    pub got: String,
}

impl Difference {
    /// The same, seen from what holds the values under this name.
    #[must_use]
    pub fn within(self, name: &str) -> Difference {
        let separator =
            if self.path.is_empty() || self.path.starts_with('[') || name.is_empty() { "" } else { "." };
        Difference { path: cut(&format!("{name}{separator}{}", self.path), PATH_BYTES_MAX), ..self }
    }

    /// The first place in which two texts differ; none, if they do not.
    pub fn of_texts(expected: &str, got: &str) -> Option<Difference> {
        (expected != got).then(|| texts(expected, got))
    }

    /// The first place in which two JSON texts differ. Texts that are no JSON are compared as they are.
    pub fn of_json(expected: &str, got: &str) -> Option<Difference> {
        match (serde_json::from_str(expected), serde_json::from_str(got)) {
            (Ok(expected), Ok(got)) => Difference::of(&expected, &got),
            _ => Difference::of_texts(expected, got),
        }
    }

    /// The first place in which two values differ; none, if they do not. Numbers that mean the same are only told
    /// apart where nothing else differs.
    pub fn of(expected: &Value, got: &Value) -> Option<Difference> {
        find(expected, got, true, 0).or_else(|| find(expected, got, false, 0))
    }

    /// Two lists, told by what their items show: the first item that only one of them has.
    pub fn of_lengths<T>(expected: &[T], got: &[T], show: impl Fn(&T) -> String) -> Option<Difference> {
        let at = expected.len().min(got.len());
        let shown = |list: &[T]| {
            list.get(at).map_or_else(|| NOTHING.to_owned(), |item| cut(&show(item), SHOWN_BYTES_MAX))
        };
        (expected.len() != got.len()).then(|| Difference {
            path: format!("[{at}]"),
            expected: shown(expected),
            got: shown(got),
        })
    }
}

fn find(expected: &Value, got: &Value, is_lenient: bool, texts_deep: u32) -> Option<Difference> {
    match (expected, got) {
        (Value::Object(before), Value::Object(now)) => {
            let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let found = member(before.get(name), now.get(name), is_lenient, texts_deep)?;
                Some(found.within(&key(name)))
            })
        }
        (Value::Array(before), Value::Array(now)) => (0..before.len().max(now.len())).find_map(|at| {
            let found = member(before.get(at), now.get(at), is_lenient, texts_deep)?;
            Some(found.within(&format!("[{at}]")))
        }),
        (Value::String(before), Value::String(now)) if before != now => {
            let inner = if texts_deep < TEXTS_MAX { embedded(before).zip(embedded(now)) } else { None };
            inner
                .and_then(|(before, now)| find(&before, &now, is_lenient, texts_deep + 1))
                .or_else(|| Difference::of_texts(before, now))
        }
        (Value::Number(before), Value::Number(now)) if is_lenient && before.as_f64() == now.as_f64() => None,
        (before, now) => (before != now).then(|| whole(Some(before), Some(now))),
    }
}

fn member(
    before: Option<&Value>,
    now: Option<&Value>,
    is_lenient: bool,
    texts_deep: u32,
) -> Option<Difference> {
    match (before, now) {
        (Some(before), Some(now)) => find(before, now, is_lenient, texts_deep),
        (before, now) => Some(whole(before, now)),
    }
}

fn whole(before: Option<&Value>, now: Option<&Value>) -> Difference {
    let shown = |value: Option<&Value>| match value {
        Some(value) => cut(&value.to_string(), SHOWN_BYTES_MAX),
        None => NOTHING.to_owned(),
    };
    Difference { path: String::new(), expected: shown(before), got: shown(now) }
}

/// The way to a field of an object, as it follows its object's.
fn key(name: &str) -> String {
    let is_plain =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_plain { name.to_owned() } else { format!("[{}]", Value::from(cut(name, 80))) }
}

/// What a text holds that is JSON itself, as the inputs of tools are.
fn embedded(text: &str) -> Option<Value> {
    if text.starts_with(['{', '[']) { serde_json::from_str(text).ok() } else { None }
}

/// Both texts from a little before their first difference on.
fn texts(expected: &str, got: &str) -> Difference {
    let same = expected.bytes().zip(got.bytes()).take_while(|(before, now)| before == now).count();
    let mut from = same.saturating_sub(BEFORE_BYTES_MAX);
    while !expected.is_char_boundary(from) {
        from -= 1;
    }
    let shown = |text: &str| {
        let mut shown = String::new();
        if from > 0 {
            let _ = write!(shown, "… from byte {from} on ");
        }
        shown + &Value::from(cut(&text[from..], SHOWN_BYTES_MAX)).to_string()
    };
    Difference { path: String::new(), expected: shown(expected), got: shown(got) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn differ(before: &Value, now: &Value, path: &str, expected: &str, got: &str) {
        let found = Difference::of(before, now);
        let wanted = Difference { path: path.into(), expected: expected.into(), got: got.into() };
        assert_eq!(found, Some(wanted));
    }

    #[test]
    fn the_first_place_is_named_however_deep_it_is() {
        let deep = |n: u32| json!({ "a": [1, { "b c": { "d": n } }], "z": n });
        differ(&deep(1), &deep(2), "a[1][\"b c\"].d", "1", "2");
        differ(&json!({ "a": 1, "b": 2 }), &json!({ "b": 2 }), "a", "1", "nothing");
        differ(&json!({ "a": 1 }), &json!({ "a": 1, "b": [3] }), "b", "nothing", "[3]");
        differ(&json!([1]), &json!([1, "x"]), "[1]", "nothing", "\"x\"");
        differ(&json!(1), &json!("1"), "", "1", "\"1\"");
        differ(&json!({ "": 1 }), &json!({ "": 2 }), "[\"\"]", "1", "2");
        differ(&json!({ "b_c-d": 1 }), &json!({ "b_c-d": 2 }), "b_c-d", "1", "2");
        assert_eq!(Difference::of(&deep(1), &deep(1)), None);
    }

    #[test]
    fn texts_that_are_json_are_looked_into() {
        let input = |n: u32| json!({ "input": json!({ "path": n, "same": 1 }).to_string() });
        differ(&input(1), &input(2), "input.path", "1", "2");
        differ(&json!("{\"a\": 1}"), &json!("{\"a\":1}"), "", "\"{\\\"a\\\": 1}\"", "\"{\\\"a\\\":1}\"");
        let found = Difference::of_json("{\"a\":1", "{\"a\":2").unwrap();
        assert_eq!((found.path.as_str(), found.expected.as_str()), ("", "\"{\\\"a\\\":1\""));
        let found = Difference::of_json("{\"a\":1}", "{\"a\": 2}").unwrap();
        assert_eq!((found.path.as_str(), found.expected.as_str()), ("a", "1"));
        // Texts in texts come to an end.
        let nested = |n: u32| (0..20).fold(json!(n), |value, _| json!([value.to_string()]));
        let found = Difference::of(&nested(1), &nested(2)).unwrap();
        assert_eq!(found.path, "[0]".repeat(1 + TEXTS_MAX as usize));
    }

    #[test]
    fn numbers_that_mean_the_same_are_no_first_difference() {
        differ(&json!({ "a": 1, "b": 1 }), &json!({ "a": 1.0, "b": 2 }), "b", "1", "2");
        differ(&json!({ "a": 1 }), &json!({ "a": 1.0 }), "a", "1", "1.0");
    }

    #[test]
    fn long_values_are_cut_around_the_difference() {
        let long = |end: &str| format!("{}{end}{}", "é".repeat(500), "y".repeat(5_000));
        let found = Difference::of_texts(&long("a"), &long("b")).unwrap();
        assert!(found.expected.starts_with("… from byte 940 on \"éé") && found.expected.contains("éay"));
        assert!(found.got.contains("éby") && found.got.len() < 400, "{}", found.got);
        // What is shown begins with a whole character.
        let found = Difference::of_texts(&long("za"), &long("zb")).unwrap();
        assert!(found.expected.starts_with("… from byte 940 on \"éé"), "{}", found.expected);
        let list = |n: u32| json!({ "a": vec![n; 10_000] });
        let found = Difference::of(&json!({}), &list(1)).unwrap();
        assert!(found.got.len() < 300 && found.got.contains("bytes cut"), "{}", found.got);
        let name = "n".repeat(10_000);
        let found = Difference::of(&json!({ &name: 1 }), &json!({ &name: 2 })).unwrap();
        assert!(found.path.len() < 600);
        // One text ends where the other goes on, within a character.
        let found = Difference::of_texts("aé", "aè").unwrap();
        assert_eq!((found.expected.as_str(), found.got.as_str()), ("\"aé\"", "\"aè\""));
        assert_eq!(Difference::of_texts("a", "a"), None);
    }

    #[test]
    fn names_and_lists_are_joined() {
        let found = Difference { path: "[1].x".into(), expected: "1".into(), got: "2".into() };
        assert_eq!(found.clone().within("uses").path, "uses[1].x");
        assert_eq!(found.within("").path, "[1].x");
        let found = Difference::of_lengths(&[1, 2], &[1], u32::to_string).unwrap();
        assert_eq!(
            (found.path.as_str(), found.expected.as_str(), found.got.as_str()),
            ("[1]", "2", "nothing")
        );
        assert_eq!(Difference::of_lengths(&[1], &[2], u32::to_string), None);
    }
}
