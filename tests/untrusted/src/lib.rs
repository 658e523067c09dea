//! Properties over bytes that nobody should trust. Samples of what is really read are corrupted, and whatever comes
//! of that, a property must hold of it: it panics where it does not.
//!
//! The samples are files, `tests/fuzz/corpus/<name>/*`, which cargo-fuzz begins with as well; what was once found to
//! break something is one of them, so each is tried as it stands, too.
//!
//! Knows how input is corrupted ([`Samples`]) and how a property is run: the same cases in every run, and then, for as
//! many seconds as `REWAKE_FUZZ_SECONDS` says, others; a failure says how to have it again. Knows no format.

mod edit;
pub mod files;
mod json;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

pub use proptest;
use proptest::prelude::*;
use proptest::sample::Index;

use edit::Edit;
pub use run::{CPU_MS_MAX, check};

/// Edits of one input at most.
const EDITS_MAX: usize = 6;
/// Bytes of an input: what is longer is cut.
const INPUT_BYTES_MAX: usize = 256 << 10;

/// Inputs as they really are, to be corrupted.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    inputs: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

/// Bytes, shown as a literal of Rust.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl Samples {
    /// Those of a folder of the corpus.
    ///
    /// # Panics
    /// If there are none.
    pub fn corpus(name: &str) -> Samples {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
        let listed =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<_> = listed.map(|entry| entry.expect("the folder is listed").path()).collect();
        paths.sort();
        Samples::of(paths.iter().map(|path| std::fs::read(path).expect("a sample is readable")))
    }

    /// These.
    pub fn of<I: AsRef<[u8]>>(inputs: impl IntoIterator<Item = I>) -> Samples {
        let inputs: Vec<Vec<u8>> = inputs.into_iter().map(|input| input.as_ref().to_vec()).collect();
        assert!(!inputs.is_empty(), "there is nothing to spoil");
        Samples { inputs, words: edit::WORDS.iter().map(|word| word.to_vec()).collect() }
    }

    /// Each made into something else, as a program's text into the program.
    #[must_use]
    pub fn map(mut self, make: impl Fn(&[u8]) -> Vec<u8>) -> Samples {
        self.inputs.iter_mut().for_each(|input| *input = make(input));
        self
    }

    /// With words of their language besides.
    #[must_use]
    pub fn words(mut self, words: &[&str]) -> Samples {
        self.words.extend(words.iter().map(|word| word.as_bytes().to_vec()));
        self
    }

    /// Corrupted bytes.
    pub fn bytes(&self) -> impl Strategy<Value = Vec<u8>> + use<> {
        let samples = self.clone();
        let edits = proptest::collection::vec(any::<Edit>(), 0..=EDITS_MAX);
        (any::<Index>(), edits).prop_map(move |(which, edits)| {
            let mut bytes = which.get(&samples.inputs).clone();
            for edit in &edits {
                edit.apply(&mut bytes, &samples.inputs, &samples.words);
                bytes.truncate(INPUT_BYTES_MAX);
            }
            bytes
        })
    }

    /// Corrupted text: what is no UTF-8 is replaced.
    pub fn texts(&self) -> impl Strategy<Value = String> + use<> {
        self.bytes().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// JSON with values that are moved, missing, twice there, or others; now and then corrupted as text.
    ///
    /// # Panics
    /// If a sample is no JSON.
    pub fn json(&self) -> impl Strategy<Value = String> + use<> {
        prop_oneof![3 => json::spoilt(&self.inputs), 1 => self.texts()]
    }

    /// Text with lines that end with JSON: that is corrupted as trees, and lines are lost, doubled and moved.
    pub fn json_lines(&self) -> impl Strategy<Value = String> + use<> {
        let samples: Vec<String> =
            self.inputs.iter().map(|input| String::from_utf8_lossy(input).into_owned()).collect();
        let changes = proptest::collection::vec((any::<Index>(), json::change()), 0..=EDITS_MAX);
        let moves = proptest::collection::vec(edit::of_lines(), 0..=EDITS_MAX);
        let spoilt = (any::<Index>(), changes, moves).prop_map(move |(which, changes, moves)| {
            let mut text = which.get(&samples).clone();
            changes.iter().for_each(|(line, change)| json::spoil_line(&mut text, line, change));
            let mut bytes = text.into_bytes();
            moves.iter().for_each(|edit| edit.apply(&mut bytes, &[Vec::new()], &[Vec::new()]));
            bytes.truncate(INPUT_BYTES_MAX);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        prop_oneof![3 => spoilt, 1 => self.texts()]
    }

    /// Runs a property over the samples, and over corrupted lines of JSON.
    pub fn check_json_lines(&self, cases: u32, property: impl Fn(&str)) {
        self.inputs.iter().for_each(|input| property(&String::from_utf8_lossy(input)));
        check(cases, self.json_lines(), |text| property(text));
    }

    /// Runs a property over the samples, and over corrupted bytes.
    pub fn check(&self, cases: u32, property: impl Fn(&[u8])) {
        self.inputs.iter().for_each(|input| property(input));
        check(cases, self.bytes().prop_map(Bytes), |bytes| property(&bytes.0));
    }

    /// Runs a property over the samples, and over corrupted text.
    pub fn check_text(&self, cases: u32, property: impl Fn(&str)) {
        self.inputs.iter().for_each(|input| property(&String::from_utf8_lossy(input)));
        check(cases, self.texts(), |text| property(text));
    }

    /// Runs a property over the samples, and over corrupted JSON.
    pub fn check_json(&self, cases: u32, property: impl Fn(&str)) {
        self.inputs.iter().for_each(|input| property(&String::from_utf8_lossy(input)));
        check(cases, self.json(), |text| property(text));
    }
}
