//! One entry, appended durably: the store alone, as a driver calls it, beside the floor one by one.

use std::time::Instant;

use rewake_core::codec::{Record, Seal, seal};
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::AgentMessage;
use rewake_core::ids::{Head, SessionId, Timestamp};
use rewake_store::{Append, Journal as _, NewSession, OpenOptions, Projection, SqliteStore};
use rewake_wire::{Part, Status};

use crate::Result;
use crate::bed::Bed;
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};
use crate::stats::{self, Round, Rounds};

/// Appends before anything is measured: the write-ahead log is then as long as it will be.
const WARMING: usize = 2_000;
/// Bytes of what an entry says.
const TEXT_BYTES: usize = 120;

pub(super) async fn one(bench: &mut Bench) -> Result<Vec<Row>> {
    let dir = Bed::folder(&bench.places)?;
    let store = SqliteStore::open(&dir.path().join("journal.db"), OpenOptions::default()).await?;
    let mut chain = Chain::new()?;
    store.create(chain.creation()?).await?;
    for _ in 0..WARMING {
        store.append(chain.append()?).await?;
    }
    let pairs = bench.pick(300, 100);
    let wanted = bench.pick(7, 3);
    let mut rounds = Rounds::default();
    while rounds.count() < wanted && rounds.voided() <= wanted {
        let (mut samples, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            floors.push(bench.floor.once()?);
            let append = chain.append()?;
            let since = Instant::now();
            store.append(append).await?;
            samples.push(since.elapsed().as_secs_f64() * 1e6);
        }
        let (before, after) = floors.split_at(pairs / 2);
        rounds.add(Round { before_us: stats::median(before), after_us: stats::median(after), samples });
    }
    store.close().await;
    let figure = "durable append of one entry, median";
    let ratio = rounds.spread_of(|round| round.value() / round.floor_us());
    let p99 = rounds.quantile(0.99).median;
    let row = Row::of(figure, Unit::Us, &rounds, bench.least(), rounds.spread())
        .ratio(ratio.median)
        .target(Target::at_most(2.4).stretch(1.6).of_ratio())
        .note(format!("99 of 100 took at most {p99:.0} µs"));
    Ok(vec![row])
}

/// A session's entries, as its writer makes them.
struct Chain {
    session: SessionId,
    head: Head,
    projection: Projection,
}

impl Chain {
    fn new() -> Result<Chain> {
        let projection = Projection { agent: "bench".into(), status: Status::Queued, title: None, turns: 0 };
        Ok(Chain { session: SessionId::parse("ses_bench")?, head: Head::default(), projection })
    }

    fn record(&mut self) -> Result<Record> {
        let fact = AgentMessage::new(vec![Part::text("x".repeat(TEXT_BYTES))]);
        let terms = Seal { epoch: 0, at: Timestamp(1_000), salt: [7; 16] };
        let place = Place { turn: 1, step: 2, ordinal: 3, index: 0 };
        let (entry, record) = seal(&self.session, self.head, terms, Draft::agent(place, fact))?;
        self.head = Head { seq: entry.seq, hash: entry.hash };
        Ok(record)
    }

    fn creation(&mut self) -> Result<NewSession> {
        Ok(NewSession {
            session: self.session.clone(),
            project: "default".into(),
            epoch: 0,
            records: vec![self.record()?],
            projection: self.projection.clone(),
            bundles: vec![],
            vouchers: vec![],
        })
    }

    fn append(&mut self) -> Result<Append> {
        Ok(Append {
            session: self.session.clone(),
            epoch: 0,
            expected: self.head,
            records: vec![self.record()?],
            taken: vec![],
            inbox_through: None,
            state: None,
            blobs: vec![],
            projection: self.projection.clone(),
        })
    }
}
