//! Taking up a session that has nothing to do, to where it rests: with a snapshot, and from its whole journal.

use std::time::Instant;

use rewake_core::limits::SNAPSHOT_ENTRIES;

use crate::Result;
use crate::bed::{Bed, Session};
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};
use crate::stats::Rounds;

/// Tool calls of its journal: three entries each.
const CALLS: u32 = 3_333;
/// More entries than there will be.
const NEVER: u64 = 1 << 40;

pub(super) async fn both(bench: &mut Bench) -> Result<Vec<Row>> {
    let loads = bench.pick(40, 20);
    let with = loaded(bench, SNAPSHOT_ENTRIES, loads).await?;
    let figure = "load of an idle session with a snapshot, 99 of 100";
    let first = Row::of(figure, Unit::Ms, &with, bench.least(), with.quantile(0.99))
        .target(Target::at_most(20.0))
        .note(format!("the median is {:.2} ms; it has 10,000 entries", with.spread().median));
    let without = loaded(bench, NEVER, 2).await?;
    let figure = "load of 10,000 entries without one";
    let row = Row::of(figure, Unit::Ms, &without, bench.least(), without.spread());
    Ok(vec![first, row.target(Target::at_most(150.0))])
}

/// Milliseconds of loads of one session, so many a round.
async fn loaded(bench: &mut Bench, snapshot_entries: u64, loads: u32) -> Result<Rounds> {
    let bed = Bed::with_snapshots(&bench.places, snapshot_entries).await?;
    let id = bed.played(CALLS).await?;
    let rounds = bench
        .rounds(async || {
            let mut samples = Vec::new();
            for _ in 0..loads {
                let since = Instant::now();
                let session = Session::load(&bed.host, &id).await?;
                samples.push(since.elapsed().as_secs_f64() * 1e3);
                session.unload().await;
            }
            Ok(samples)
        })
        .await?;
    bed.close().await;
    Ok(rounds)
}
