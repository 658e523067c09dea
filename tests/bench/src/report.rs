//! What is shown: one row a figure, as a table and as JSON, and what the whole run comes to. Measures nothing.

use serde::Serialize;

use crate::facts::Facts;
use crate::stats::{Rounds, Spread};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// So many a second.
    PerSecond,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Mebibytes.
    Mib,
    /// Bytes.
    Bytes,
    /// Processors kept busy.
    Processors,
}

/// What a figure should come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Target {
    /// Whether more is better.
    at_least: bool,
    bound: f64,
    stretch: Option<f64>,
    /// It is about the ratio to the floor, not about the number itself.
    of_ratio: bool,
}

impl Target {
    /// At most so much.
    pub(crate) const fn at_most(bound: f64) -> Target {
        Target { at_least: false, bound, stretch: None, of_ratio: false }
    }

    /// At least so much.
    pub(crate) const fn at_least(bound: f64) -> Target {
        Target { at_least: true, bound, stretch: None, of_ratio: false }
    }

    /// And better so much.
    pub(crate) const fn stretch(self, stretch: f64) -> Target {
        Target { stretch: Some(stretch), ..self }
    }

    /// About the ratio to the floor.
    pub(crate) const fn of_ratio(self) -> Target {
        Target { of_ratio: true, ..self }
    }

    fn holds(self, bound: f64, value: f64) -> bool {
        if self.at_least { value >= bound } else { value <= bound }
    }

    fn standing(self, value: f64) -> Standing {
        match self.stretch {
            Some(stretch) if self.holds(stretch, value) => Standing::Stretch,
            _ if self.holds(self.bound, value) => Standing::Met,
            _ => Standing::Missed,
        }
    }

    fn shown(self) -> String {
        let sign = if self.at_least { "≥" } else { "≤" };
        let stretch = self.stretch.map_or_else(String::new, |stretch| format!(" ({})", number(stretch)));
        let what = if self.of_ratio { " × floor" } else { "" };
        format!("{sign} {}{stretch}{what}", number(self.bound))
    }
}

/// How a figure stands to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// Even what is hoped for.
    Stretch,
    /// What is wanted.
    Met,
    /// Neither.
    Missed,
    /// Nothing can be said: the machine did other things.
    Void,
    /// It was not measured.
    Skipped,
    /// It has no target.
    Told,
}

impl Standing {
    const fn word(self) -> &'static str {
        match self {
            Standing::Stretch => "stretch",
            Standing::Met => "met",
            Standing::Missed => "missed",
            Standing::Void => "void",
            Standing::Skipped => "skipped",
            Standing::Told => "",
        }
    }
}

/// One line of the result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    figure: String,
    unit: Unit,
    /// Median; none: void or skipped.
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// In microseconds.
    floor_us: Option<f64>,
    ratio: Option<f64>,
    target: Option<Target>,
    standing: Standing,
    rounds: usize,
    rounds_void: usize,
    note: String,
}

impl Row {
    /// A figure with a value, whatever it was measured against.
    pub(crate) fn new(figure: &str, unit: Unit, spread: Spread) -> Row {
        Row {
            figure: figure.to_owned(),
            unit,
            value: Some(spread.median),
            low: Some(spread.low),
            high: Some(spread.high),
            floor_us: None,
            ratio: None,
            target: None,
            standing: Standing::Told,
            rounds: 1,
            rounds_void: 0,
            note: String::new(),
        }
    }

    /// A figure of rounds: void if fewer than `least` of them count.
    pub(crate) fn of(figure: &str, unit: Unit, rounds: &Rounds, least: usize, spread: Spread) -> Row {
        let mut row = Row::new(figure, unit, spread);
        (row.rounds, row.rounds_void) = (rounds.count(), rounds.voided());
        if rounds.count() < least.max(1) {
            (row.value, row.low, row.high) = (None, None, None);
            row.standing = Standing::Void;
            let Spread { low, high, .. } = rounds.disturbed_us();
            row.note = format!("the floor went from {low:.0} to {high:.0} µs in {} rounds", rounds.voided());
        } else {
            row.floor_us = Some(rounds.floor_us());
        }
        row
    }

    /// A figure that was not measured, and why.
    pub(crate) fn skipped(figure: &str, unit: Unit, why: &str) -> Row {
        let row = Row::new(figure, unit, Spread::only(0.0));
        Row { value: None, low: None, high: None, standing: Standing::Skipped, note: why.to_owned(), ..row }
    }

    /// With its ratio to the floor.
    pub(crate) fn ratio(mut self, ratio: f64) -> Row {
        self.ratio = self.value.map(|_| ratio);
        self
    }

    /// With what it should come to.
    pub(crate) fn target(mut self, target: Target) -> Row {
        self.target = Some(target);
        let judged = if target.of_ratio { self.ratio } else { self.value };
        if let Some(value) = judged {
            self.standing = target.standing(value);
        }
        self
    }

    /// With a remark.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Row {
        if self.standing != Standing::Void {
            self.note = note.into();
        }
        self
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    /// In short, on a line of its own.
    pub(crate) fn line(&self) -> String {
        let cells = self.cells();
        let cells: Vec<&str> = cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        cells.join("  ")
    }

    fn cells(&self) -> [String; 7] {
        let shown =
            |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| amount(value, self.unit));
        let spread = match (self.low, self.high) {
            (Some(low), Some(high)) if low != high => format!("{} to {}", number(low), number(high)),
            _ => String::new(),
        };
        [
            self.figure.clone(),
            shown(self.value),
            spread,
            self.floor_us.map_or_else(String::new, |floor| amount(floor, Unit::Us)),
            self.ratio.map_or_else(String::new, number),
            self.target.map_or_else(String::new, Target::shown),
            self.standing.word().to_owned(),
        ]
    }
}

/// All of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    facts: Facts,
    quick: bool,
    rows: Vec<Row>,
}

impl Report {
    /// Of these rows.
    pub(crate) fn new(facts: Facts, quick: bool, rows: Vec<Row>) -> Report {
        Report { facts, quick, rows }
    }

    /// Whether a figure says nothing.
    pub(crate) fn has_void(&self) -> bool {
        self.rows.iter().any(|row| row.standing() == Standing::Void)
    }

    /// As people read it.
    pub(crate) fn table(&self) -> String {
        let head = ["figure", "measured", "from … to", "floor", "ratio", "target", ""].map(str::to_owned);
        let mut lines = vec![head];
        lines.extend(self.rows.iter().map(Row::cells));
        let notes = self.rows.iter().filter(|row| !row.note.is_empty());
        let notes: String = notes.map(|row| format!("\n{}: {}.", row.figure, row.note)).collect();
        format!("{}\n\n{}{notes}", self.facts.line(), aligned(&lines))
    }
}

/// Lines of cells, in columns: the first to the left, numbers to the right.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |cells: &[String; N]| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if (1..5).contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn amount(value: f64, unit: Unit) -> String {
    let unit = match unit {
        Unit::PerSecond => "/s",
        Unit::Us => " µs",
        Unit::Ms => " ms",
        Unit::Mib => " MiB",
        Unit::Bytes => " B",
        Unit::Processors => " processors",
    };
    format!("{}{unit}", number(value))
}

/// Three figures, more only before the point.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 2,
        0.0 => 0,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Round;

    fn rounds(values: &[(f64, f64)]) -> Rounds {
        let mut rounds = Rounds::default();
        for (floor, value) in values {
            rounds.add(Round { before_us: *floor, after_us: *floor, samples: vec![*value] });
        }
        rounds
    }

    #[test]
    fn numbers_are_short() {
        let all = [0.0, 0.0213, 0.2, 1.666, 22.0, 22.44, 123.4, 17_000.4].map(number);
        assert_eq!(all, ["0", "0.021", "0.2", "1.67", "22", "22.4", "123", "17000"]);
    }

    #[test]
    fn a_figure_stands_to_its_target() {
        let row = |value: f64, target| {
            Row::new("f", Unit::Us, Spread::only(value)).ratio(value / 2.0).target(target).standing()
        };
        let most = Target::at_most(80.0).stretch(40.0);
        assert_eq!(
            [40.0, 80.0, 81.0].map(|value| row(value, most)),
            [Standing::Stretch, Standing::Met, Standing::Missed]
        );
        let least = Target::at_least(2_500.0).stretch(4_000.0);
        assert_eq!(
            [4_000.0, 2_500.0, 2_499.0].map(|value| row(value, least)),
            [Standing::Stretch, Standing::Met, Standing::Missed]
        );
        assert_eq!(row(4.8, Target::at_most(2.4).of_ratio()), Standing::Met);
        assert_eq!(row(4.9, Target::at_most(2.4).of_ratio()), Standing::Missed);
    }

    #[test]
    fn too_few_rounds_are_none() {
        let row = |values: &[(f64, f64)]| {
            let rounds = rounds(values);
            Row::of("f", Unit::Us, &rounds, 2, rounds.spread()).target(Target::at_most(1e9))
        };
        let void = row(&[(100.0, 1.0), (900.0, 1.0), (901.0, 1.0)]);
        assert_eq!((void.standing(), void.value, void.floor_us), (Standing::Void, None, None));
        assert_eq!((void.rounds, void.rounds_void), (1, 2));
        assert_eq!(void.note, "the floor went from 900 to 901 µs in 2 rounds");
        let report = Report::new(Facts::of(std::path::Path::new("/")), false, vec![void]);
        assert!(report.has_void() && report.table().contains("void"), "{}", report.table());
        assert_eq!(row(&[(100.0, 1.0), (100.0, 2.0)]).standing(), Standing::Met);
    }

    #[test]
    fn the_table_is_aligned() {
        let rows = vec![
            Row::new("a figure", Unit::PerSecond, Spread { median: 2_500.0, low: 2_000.0, high: 3_000.0 })
                .target(Target::at_least(2_500.0).stretch(4_000.0)),
            Row::skipped("µ", Unit::Us, "no such component"),
        ];
        let report = Report::new(Facts::of(std::path::Path::new("/")), true, rows);
        let table = report.table();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(lines[1], "a figure    2500/s  2000 to 3000                ≥ 2500 (4000)  met");
        assert_eq!(lines[2], "µ                –                                             skipped");
        assert_eq!(lines[3], "µ: no such component.");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["rows"][1]["standing"], &json["quick"]), (&"skipped".into(), &true.into()));
        assert!(!report.has_void());
    }
}
