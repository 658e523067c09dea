//! What the program is asked for.

use std::path::PathBuf;

use crate::bed::Places;
use crate::figures::{FIGURES, Figure};
use crate::{Failed, Result};

pub(crate) const USAGE: &str = "\
Measures Rewake on this machine.

  rewake-bench [--quick] [--json FILE] [FIGURE…]

  --quick        fewer and shorter rounds: about a minute
  --json FILE    write the result as JSON too
  --guests DIR   where the benchmarks' components are; target/guests
  --cache DIR    where compiled components are kept; target/bench-components
  --data DIR     where data folders are made: on the disk that is measured; target/bench-data
  --js FILE      a component with the tool `work` that QuickJS runs; without it, that figure is skipped";

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Say how to ask.
    Help,
    /// Load this many sessions of a data folder, and say what that takes: a process of its own.
    Loaded { count: usize, data: PathBuf, places: Places },
    /// Measure.
    Run(Args),
}

/// How to measure.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) quick: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) places: Places,
    figures: Vec<&'static Figure>,
}

impl Asked {
    /// Reads the arguments.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Asked> {
        let mut args = Args { quick: false, json: None, places: places(), figures: Vec::new() };
        let mut loaded = None;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| Failed::from(format!("{argument}: what?")));
            match argument.as_str() {
                "--help" | "-h" => return Ok(Asked::Help),
                "--quick" => args.quick = true,
                "--json" => args.json = Some(value()?.into()),
                "--guests" => args.places.guests = value()?.into(),
                "--cache" => args.places.cache = value()?.into(),
                "--data" => args.places.data = value()?.into(),
                "--js" => args.places.js = Some(value()?.into()),
                "--loaded" => loaded = Some((value()?.parse()?, PathBuf::from(value()?))),
                name => args.figures.push(find(name)?),
            }
        }
        Ok(match loaded {
            Some((count, data)) => Asked::Loaded { count, data, places: args.places },
            None => Asked::Run(args),
        })
    }
}

impl Args {
    /// The figures that were named; all, if none was.
    pub(crate) fn figures(&self) -> Vec<&'static Figure> {
        if self.figures.is_empty() { FIGURES.iter().collect() } else { self.figures.clone() }
    }
}

fn places() -> Places {
    let target = PathBuf::from("target");
    Places {
        guests: target.join("guests"),
        cache: target.join("bench-components"),
        data: target.join("bench-data"),
        js: None,
    }
}

fn find(name: &str) -> Result<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name).ok_or_else(|| {
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        format!("there is no figure {name:?}; there are: {}\n\n{USAGE}", names.join(", ")).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Asked> {
        Asked::parse(words.iter().map(|&word| word.to_owned()))
    }

    #[test]
    fn arguments_are_read() {
        let Asked::Run(args) = parse(&["--quick", "replay", "--json", "x.json", "append"]).unwrap() else {
            panic!("it is to be run");
        };
        assert!(args.quick && args.json == Some("x.json".into()));
        assert_eq!(args.figures().iter().map(|figure| figure.name).collect::<Vec<_>>(), ["replay", "append"]);
        let Asked::Run(args) = parse(&[]).unwrap() else { panic!("it is to be run") };
        assert_eq!(args.figures().len(), FIGURES.len());
        assert!(matches!(parse(&["--loaded", "3", "dir"]).unwrap(), Asked::Loaded { count: 3, .. }));
    }

    #[test]
    fn a_wrong_word_is_told() {
        assert!(parse(&["replays"]).unwrap_err().to_string().contains("there are: append, "));
        assert!(parse(&["--json"]).unwrap_err().to_string().contains("--json: what?"));
    }
}
