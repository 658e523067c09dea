//! Reads tables of a TOML document field by field, and collects what is wrong with them.
//!
//! Knows TOML's types and places; does not know what any key means. A table's known keys are those
//! that its reader asked for, so the list in an error is always the list in the code.

use std::cell::RefCell;
use std::ops::Range;

use rewake_core::money::Usd;
use serde_spanned::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use super::error::{Error, Invalid, PROBLEMS_MAX, Problem, SourceText, nearest, quote, quote_all};

/// A document being read, and the problems found so far.
pub struct Document<'a> {
    source: &'a SourceText,
    problems: RefCell<Vec<Problem>>,
}

/// One table of a document.
pub struct Fields<'a> {
    document: &'a Document<'a>,
    table: &'a DeTable<'a>,
    /// Its dotted name, `component.loop`; empty for the whole document.
    path: String,
    /// Which of the tables of that name it is, counted from 1, if there are several.
    number: Option<usize>,
    span: Range<usize>,
    asked: RefCell<Vec<&'static str>>,
}

/// Parses the text; broken TOML is reported with every place that the parser found.
///
/// # Errors
/// If it is no TOML.
pub fn parse(source: &SourceText) -> Result<Spanned<DeTable<'_>>, Error> {
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let problems: Vec<Problem> = errors
        .iter()
        .take(PROBLEMS_MAX)
        .map(|error| {
            let invalid = Invalid::new(format!("not valid TOML: {}", error.message()));
            source.problem(error.span().unwrap_or(0..0), invalid)
        })
        .collect();
    Error::unless_none(problems, Some(table))
}

impl<'a> Document<'a> {
    /// Of this text; nothing is wrong with it yet.
    pub fn new(source: &'a SourceText) -> Document<'a> {
        Document { source, problems: RefCell::default() }
    }

    /// Reports something that is wrong at these bytes.
    pub fn report(&self, span: Range<usize>, invalid: Invalid) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.push(self.source.problem(span, invalid));
        }
    }

    /// The table that is the whole document.
    pub fn root(&'a self, table: &'a DeTable<'a>) -> Fields<'a> {
        self.fields(table, 0..0, String::new())
    }

    /// `value`, unless a problem was reported.
    ///
    /// # Errors
    /// With every problem that was.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Error> {
        Error::unless_none(self.problems.into_inner(), value)
    }

    fn fields(&'a self, table: &'a DeTable<'a>, span: Range<usize>, path: String) -> Fields<'a> {
        Fields { document: self, table, path, number: None, span, asked: RefCell::default() }
    }
}

impl<'a> Fields<'a> {
    /// How a person knows the table: `[component.loop]`.
    pub fn label(&self) -> String {
        match (self.path.as_str(), self.number) {
            ("", _) => "the top level".to_owned(),
            (path, None) => format!("[{path}]"),
            (path, Some(number)) => format!("[{path}] (number {number})"),
        }
    }

    /// How a person knows the table `key` below this one.
    pub fn label_of(&self, key: &str) -> String {
        format!("[{}]", self.path_of(key))
    }

    /// Where the table stands.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Reports something that is wrong at these bytes.
    pub fn report(&self, span: Range<usize>, invalid: Invalid) {
        self.document.report(span, invalid);
    }

    /// Where `key` stands; the table itself, if it has no such key.
    pub fn key_span(&self, key: &str) -> Range<usize> {
        self.table.get_key_value(key).map_or(self.span(), |(key, _)| key.span())
    }

    /// Whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Says that `key` must be there, unless it is.
    pub fn require(&self, key: &'static str, example: &str) {
        if !self.has(key) {
            self.report(
                self.span(),
                Invalid::new(format!("{} has no `{key}`", self.label()))
                    .help(format!("add `{key} = {example}`")),
            );
        }
    }

    /// Says that the table `key` must be there, unless it is.
    pub fn require_table(&self, key: &'static str, holds: &str) {
        if !self.has(key) {
            let message = format!("there is no {}", self.label_of(key));
            self.report(self.span(), Invalid::new(message).help(format!("add it, with {holds}")));
        }
    }

    /// The raw value of `key`.
    pub fn value(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.borrow_mut().push(key);
        self.table.get(key)
    }

    /// A string.
    pub fn text(&self, key: &'static str) -> Option<Spanned<String>> {
        self.parsed(key, "a string", |text| Ok(text.to_owned()))
    }

    /// A string that is not empty.
    pub fn some_text(&self, key: &'static str) -> Option<Spanned<String>> {
        self.parsed(key, "a string", |text| match text.trim() {
            "" => Err(Invalid::new(format!("`{key}` is empty"))),
            _ => Ok(text.to_owned()),
        })
    }

    /// A string that `parse` makes something of; `form` says how the value is written.
    pub fn parsed<T>(
        &self,
        key: &'static str,
        form: &str,
        parse: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Option<Spanned<T>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::String(text) => self.checked(value.span(), parse(text)),
            other => self.wrong_type(key, value.span(), form, other),
        }
    }

    /// One of a closed set of strings.
    pub fn one_of<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<Spanned<T>> {
        let known = || choices.iter().map(|(name, _)| *name);
        self.parsed(key, "a string", |text| {
            choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice).ok_or_else(|| {
                let help = match nearest(text, known()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("it is one of {}", quote_all(known())),
                };
                Invalid::new(format!("`{key}` cannot be {}", quote(text))).help(help)
            })
        })
    }

    /// True or false.
    pub fn flag(&self, key: &'static str) -> Option<Spanned<bool>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(Spanned::new(value.span(), *flag)),
            other => self.wrong_type(key, value.span(), "true or false", other),
        }
    }

    /// A whole number from 1 to `max`.
    pub fn count(&self, key: &'static str, max: u64) -> Option<Spanned<u64>> {
        let value = self.value(key)?;
        let DeValue::Integer(number) = value.get_ref() else {
            return self.wrong_type(key, value.span(), "a whole number", value.get_ref());
        };
        let checked = integer(number).and_then(|n| u64::try_from(n).ok()).filter(|n| (1..=max).contains(n));
        let invalid = || Invalid::new(format!("`{key}` must be a whole number from 1 to {max}"));
        self.checked(value.span(), checked.ok_or_else(invalid))
    }

    /// The values of an array.
    pub fn list(&self, key: &'static str) -> Option<Spanned<&'a DeArray<'a>>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Array(array) => Some(Spanned::new(value.span(), array)),
            other => self.wrong_type(key, value.span(), "an array", other),
        }
    }

    /// An array of strings, each of which `parse` makes something of.
    pub fn parsed_list<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Option<Vec<Spanned<T>>> {
        let array = self.list(key)?.into_inner();
        let parsed = array.iter().filter_map(|value| match value.get_ref() {
            DeValue::String(text) => self.checked(value.span(), parse(text)),
            other => self.wrong_type(key, value.span(), "an array of strings", other),
        });
        Some(parsed.collect())
    }

    /// A table below this one.
    pub fn table(&self, key: &'static str) -> Option<Fields<'a>> {
        let value = self.value(key)?;
        self.as_fields(key, value, self.path_of(key))
    }

    /// Tables in an array: `[[component.x.on]]`, or inline ones.
    pub fn tables(&self, key: &'static str) -> Vec<Fields<'a>> {
        let Some(array) = self.list(key) else { return Vec::new() };
        let fields = array.into_inner().iter().enumerate();
        let numbered = fields.filter_map(|(index, value)| {
            let fields = self.as_fields(key, value, self.path_of(key))?;
            Some(Fields { number: Some(index + 1), ..fields })
        });
        numbered.collect()
    }

    /// The tables below this one, under names of the author's choice, in the order of the file.
    pub fn named_tables(&self) -> Vec<(Spanned<&'a str>, Fields<'a>)> {
        let mut named: Vec<_> = self
            .table
            .iter()
            .filter_map(|(name, value)| {
                let fields = self.as_fields(name.get_ref(), value, self.path_of(name.get_ref()))?;
                Some((Spanned::new(name.span(), name.get_ref().as_ref()), fields))
            })
            .collect();
        named.sort_by_key(|(name, _)| name.span().start);
        named
    }

    /// Every key and value, in the order of the file; whatever the keys are, they are known.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Spanned<DeValue<'a>>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// A value of an array that must be a table.
    pub fn inline_table(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Option<Fields<'a>> {
        self.as_fields(key, value, self.path_of(key))
    }

    /// Refuses every key that was not asked for. `hint` knows where a key belongs that people put
    /// into this table by mistake.
    pub fn refuse_unknown(&self, hint: impl Fn(&str) -> Option<String>) {
        let asked = self.asked.borrow();
        for key in self.table.keys().filter(|key| !asked.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            let help = match (hint(name), nearest(name, asked.iter().copied())) {
                (Some(hint), _) => hint,
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("known here: {}", quote_all(asked.iter().copied())),
            };
            let message = format!("unknown key {} in {}", quote(name), self.label());
            self.report(key.span(), Invalid::new(message).help(help));
        }
    }

    /// An amount in USD, exactly as it is written: a number, or a string. `form` says what it is.
    pub fn usd(&self, key: &'static str, form: &str) -> Option<Spanned<Usd>> {
        let value = self.value(key)?;
        let read = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<Usd>(),
            DeValue::Float(number) => number.as_str().parse(),
            DeValue::String(text) => text.parse(),
            other => return self.wrong_type(key, value.span(), form, other),
        };
        let read = read.map_err(|error| Invalid::new(format!("`{key}` is not an amount: {error}")));
        self.checked(value.span(), read)
    }

    /// The value; or none, and a report of what is wrong with it.
    pub fn checked<T>(&self, span: Range<usize>, value: Result<T, Invalid>) -> Option<Spanned<T>> {
        match value {
            Ok(value) => Some(Spanned::new(span, value)),
            Err(invalid) => {
                self.report(span, invalid);
                None
            }
        }
    }

    /// Reports that the value of `key` is not what it must be.
    pub fn wrong_type<T>(&self, key: &str, span: Range<usize>, form: &str, found: &DeValue<'_>) -> Option<T> {
        let found = match found {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a number",
            DeValue::Float(_) => "a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.report(span, Invalid::new(format!("{} must be {form}, and this is {found}", quote(key))));
        None
    }

    fn as_fields(&self, key: &str, value: &'a Spanned<DeValue<'a>>, path: String) -> Option<Fields<'a>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(self.document.fields(table, value.span(), path)),
            other => self.wrong_type(key, value.span(), "a table", other),
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The number, if it fits.
fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A string, a number, true or false, as JSON; none for what is no single value.
pub fn scalar(value: &DeValue<'_>) -> Option<serde_json::Value> {
    match value {
        DeValue::String(text) => Some(text.as_ref().into()),
        DeValue::Boolean(flag) => Some((*flag).into()),
        DeValue::Integer(number) => integer(number).map(serde_json::Value::from),
        DeValue::Float(number) => {
            number.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Into::into)
        }
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Any value as JSON.
///
/// # Errors
/// What in it JSON has no form for.
pub fn json(value: &DeValue<'_>) -> Result<serde_json::Value, &'static str> {
    match value {
        DeValue::Array(values) => values.iter().map(|value| json(value.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries =
                table.iter().map(|(key, value)| Ok((key.get_ref().to_string(), json(value.get_ref())?)));
            Ok(serde_json::Value::Object(entries.collect::<Result<_, &'static str>>()?))
        }
        DeValue::Datetime(_) => Err("a date"),
        other => scalar(other).ok_or("a number that JSON has no form for"),
    }
}
