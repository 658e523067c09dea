//! Every variant and every field of what an entry can say stands in a golden payload, nested ones too: what is not
//! there could vanish, or be renamed, unseen.
//!
//! What is declared is read from the source; what is there, from what serde is told when payloads are written again.

use std::collections::BTreeSet;

use rewake_core::fact::Fact;
use serde::Serialize;
use serde::ser;
use syn::{Fields, Item, Meta};

/// Where what an entry can say is declared.
pub(crate) const SOURCES: [&str; 18] = [
    "host/core/src/fact/grants.rs",
    "host/core/src/fact/hook.rs",
    "host/core/src/fact/pin.rs",
    "host/core/src/fact/session.rs",
    "host/core/src/fact/step.rs",
    "host/core/src/fact/turn.rs",
    "host/core/src/grant.rs",
    "sdk/wire/src/content.rs",
    "sdk/wire/src/entry/call.rs",
    "sdk/wire/src/entry/command.rs",
    "sdk/wire/src/entry/file.rs",
    "sdk/wire/src/entry/hook.rs",
    "sdk/wire/src/entry/http.rs",
    "sdk/wire/src/entry/model.rs",
    "sdk/wire/src/entry/question.rs",
    "sdk/wire/src/entry/step.rs",
    "sdk/wire/src/entry/turn.rs",
    "sdk/wire/src/entry/workspace.rs",
];

/// What is seen: a type, and a variant or a field of it, by their names in journals.
pub(crate) type Seen = BTreeSet<(String, String)>;

/// What the golden payloads hold.
pub(crate) fn held(golden: &str) -> Seen {
    let mut seen = Seen::new();
    for line in golden.lines() {
        let mut fields = line.splitn(3, ' ');
        let (kind, version, payload) = (fields.next(), fields.next(), fields.next());
        let version = version.and_then(|version| version.parse().ok()).expect("KIND VERSION PAYLOAD");
        let fact = Fact::decode(kind.expect("a kind"), version, payload.expect("a payload").as_bytes());
        fact.expect("a golden payload").serialize(Look(&mut seen)).expect("nothing is written");
    }
    seen
}

/// What a file declares of the types that are written to journals.
pub(crate) fn declared(source: &str) -> Seen {
    let mut found = Seen::new();
    for item in syn::parse_file(source).expect("Rust").items {
        match item {
            Item::Enum(item) if is_written(&item.attrs) => {
                let rule = renaming(&item.attrs);
                for variant in &item.variants {
                    let name =
                        renamed(&variant.attrs).unwrap_or_else(|| cased(&variant.ident.to_string(), &rule));
                    found.insert((item.ident.to_string(), name.clone()));
                    fields(&format!("{}.{name}", item.ident), &variant.fields, &mut found);
                }
            }
            Item::Struct(item) if is_written(&item.attrs) => {
                fields(&item.ident.to_string(), &item.fields, &mut found)
            }
            _ => {}
        }
    }
    found
}

fn fields(of: &str, fields: &Fields, found: &mut Seen) {
    // What another one's fields stand among is written as a map, which has no name to be told by.
    if fields.iter().any(|field| serde_words(&field.attrs).iter().any(|word| word == "flatten")) {
        return;
    }
    for field in fields {
        if let Some(name) = &field.ident {
            found.insert((of.to_owned(), renamed(&field.attrs).unwrap_or_else(|| name.to_string())));
        }
    }
}

fn is_written(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let text = match &attr.meta {
            Meta::List(list) if list.path.is_ident("derive") => list.tokens.to_string(),
            _ => return false,
        };
        text.contains("Serialize")
    })
}

/// The words of serde's attributes: `default`, `rename = "x"`, …
fn serde_words(attrs: &[syn::Attribute]) -> Vec<String> {
    let lists = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::List(list) if list.path.is_ident("serde") => Some(list.tokens.to_string()),
        _ => None,
    });
    lists.flat_map(|text| text.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>()).collect()
}

fn value_of(attrs: &[syn::Attribute], name: &str) -> Option<String> {
    serde_words(attrs).iter().find_map(|word| {
        let (key, value) = word.split_once('=')?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn renamed(attrs: &[syn::Attribute]) -> Option<String> {
    value_of(attrs, "rename")
}

fn renaming(attrs: &[syn::Attribute]) -> String {
    value_of(attrs, "rename_all").unwrap_or_default()
}

fn cased(name: &str, rule: &str) -> String {
    let separator = match rule {
        "snake_case" => '_',
        "kebab-case" => '-',
        "lowercase" => return name.to_lowercase(),
        _ => return name.to_owned(),
    };
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push(separator);
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// Sees what is written, and writes nothing. The answer is a text, where one was written.
struct Look<'a>(&'a mut Seen);

/// A compound that is being looked at, and what its parts belong to.
struct Parts<'a> {
    seen: &'a mut Seen,
    of: String,
}

type Answer = Result<Option<String>, std::fmt::Error>;

impl Parts<'_> {
    fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Answer {
        value.serialize(Look(self.seen))
    }

    fn named<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), std::fmt::Error> {
        let text = self.part(value)?;
        match text {
            // The tag of an enum whose variants are told by a field.
            Some(variant) if name == "type" => {
                self.seen.insert((self.of.clone(), variant.clone()));
                self.of = format!("{}.{variant}", self.of);
            }
            _ => {
                self.seen.insert((self.of.clone(), name.to_owned()));
            }
        }
        Ok(())
    }
}

macro_rules! plain {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> Answer {
            Ok(None)
        })*
    };
}

impl<'a> ser::Serializer for Look<'a> {
    type Ok = Option<String>;
    type Error = std::fmt::Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    plain!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8], serialize_unit_struct: &'static str);

    fn serialize_str(self, text: &str) -> Answer {
        Ok(Some(text.to_owned()))
    }

    fn serialize_none(self) -> Answer {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Answer {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Answer {
        Ok(None)
    }

    fn serialize_unit_variant(self, name: &'static str, _: u32, variant: &'static str) -> Answer {
        self.0.insert((name.to_owned(), variant.to_owned()));
        Ok(Some(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Answer {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Answer {
        self.0.insert((name.to_owned(), variant.to_owned()));
        value.serialize(self).map(|_| None)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, std::fmt::Error> {
        Ok(Parts { seen: self.0, of: String::new() })
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, std::fmt::Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, std::fmt::Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, std::fmt::Error> {
        self.0.insert((name.to_owned(), variant.to_owned()));
        self.serialize_seq(None)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, std::fmt::Error> {
        self.serialize_seq(None)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, std::fmt::Error> {
        Ok(Parts { seen: self.0, of: name.to_owned() })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, std::fmt::Error> {
        self.0.insert((name.to_owned(), variant.to_owned()));
        Ok(Parts { seen: self.0, of: format!("{name}.{variant}") })
    }
}

macro_rules! parts {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Parts<'_> {
            type Ok = Option<String>;
            type Error = std::fmt::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), std::fmt::Error> {
                self.part(value).map(drop)
            }

            fn end(self) -> Answer {
                Ok(None)
            }
        })*
    };
}

parts!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

impl ser::SerializeMap for Parts<'_> {
    type Ok = Option<String>;
    type Error = std::fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), std::fmt::Error> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), std::fmt::Error> {
        self.part(value).map(drop)
    }

    fn end(self) -> Answer {
        Ok(None)
    }
}

macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Parts<'_> {
            type Ok = Option<String>;
            type Error = std::fmt::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), std::fmt::Error> {
                self.named(name, value)
            }

            fn end(self) -> Answer {
                Ok(None)
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(seen: &Seen) -> Vec<String> {
        seen.iter().map(|(of, name)| format!("{of}.{name}")).collect()
    }

    #[test]
    fn what_is_declared_is_read_with_its_names() {
        let source = "#[derive(Serialize)] #[serde(rename_all = \"snake_case\")] enum A { OneTwo, B { c: u8 }, #[serde(rename = \"x\")] D(u8) }
            #[derive(Debug)] struct Other { e: u8 }
            #[derive(Serialize)] struct F { #[serde(rename = \"type\")] g: u8, #[serde(default, flatten)] h: A }";
        assert_eq!(shown(&declared(source)), ["A.b", "A.one_two", "A.x", "A.b.c"]);
    }

    #[test]
    fn what_is_held_is_told_by_type() {
        let golden = "turn.failed 1 {\"scope\":\"turn\",\"code\":\"x\",\"detail\":\"\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\nagent.message 1 {\"parts\":[{\"type\":\"text\",\"text\":\"a\"}]}";
        let held = shown(&held(golden));
        for name in ["Scope.turn", "TurnFailed.code", "Usage.input_tokens", "Part.text", "Part.text.text"] {
            assert!(held.iter().any(|one| one == name), "{name} in {held:?}");
        }
    }
}
