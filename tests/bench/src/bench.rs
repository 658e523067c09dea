//! How everything is measured: in rounds, each between two measurements of the floor. What a round does is the
//! figure's.

use tempfile::TempDir;

use crate::Result;
use crate::args::Args;
use crate::bed::{Bed, Places};
use crate::floor::Floor;
use crate::stats::{Round, Rounds};

/// Rounds of a run, and of a quick one.
const ROUNDS: [usize; 2] = [7, 3];
/// How many of them must count.
const LEAST: [usize; 2] = [4, 2];

/// The floor, and how much is to be done.
pub(crate) struct Bench {
    pub(crate) places: Places,
    pub(crate) floor: Floor,
    quick: bool,
    /// The floor's file is in it.
    _folder: TempDir,
}

impl Bench {
    /// With a floor on the disk that is measured.
    pub(crate) fn new(args: &Args) -> Result<Bench> {
        let folder = Bed::folder(&args.places)?;
        let floor = Floor::open(folder.path())?;
        Ok(Bench { places: args.places.clone(), floor, quick: args.quick, _folder: folder })
    }

    /// One of two, by how much is to be done.
    pub(crate) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// How many rounds must count for a figure to say something.
    pub(crate) fn least(&self) -> usize {
        LEAST[usize::from(self.quick)]
    }

    /// Measures in rounds, each between two of the floor. Rounds that turn out void are made up for, as often as
    /// there are rounds.
    pub(crate) async fn rounds(
        &mut self,
        mut figure: impl AsyncFnMut() -> Result<Vec<f64>>,
    ) -> Result<Rounds> {
        let wanted = ROUNDS[usize::from(self.quick)];
        let mut rounds = Rounds::default();
        while rounds.count() < wanted && rounds.voided() <= wanted {
            let before_us = self.floor.median_us()?;
            let samples = figure().await?;
            let after_us = self.floor.median_us()?;
            rounds.add(Round { before_us, after_us, samples });
        }
        Ok(rounds)
    }
}
