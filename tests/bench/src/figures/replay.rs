//! A step with many recorded calls, run again from the embedded store: what `rewake replay` does.

use std::time::Instant;

use crate::Result;
use crate::bed::Bed;
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};

/// Recorded tool calls, of one step.
const CALLS: u32 = 10_000;

pub(super) async fn calls(bench: &mut Bench) -> Result<Vec<Row>> {
    let bed = Bed::durable(&bench.places).await?;
    let id = bed.played(CALLS).await?;
    let rounds = bench
        .rounds(async || {
            let since = Instant::now();
            let replayed = bed.host.replay(&id).await?;
            let took_ms = since.elapsed().as_secs_f64() * 1e3;
            if replayed.steps != 1 || replayed.mismatch.is_some() || replayed.fed < u64::from(CALLS) {
                return Err(format!("it was not replayed: {replayed:?}").into());
            }
            Ok(vec![took_ms])
        })
        .await?;
    bed.close().await;
    let figure = "replay of a step with 10,000 tool calls";
    let row = Row::of(figure, Unit::Ms, &rounds, bench.least(), rounds.spread());
    Ok(vec![row.target(Target::at_most(150.0).stretch(60.0))])
}
