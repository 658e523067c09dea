//! What an entry takes on the disk, with everything that goes with it: rows, indexes, free space of pages.

use rewake_core::limits::SNAPSHOT_ENTRIES;
use rewake_store::OpenOptions;
use rewake_store::{Journal as _, SqliteStore};

use crate::Result;
use crate::bed::{Bed, Component, Plan, Session};
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};
use crate::stats::Spread;

/// Bytes of a call's text.
const TEXT_BYTES: usize = 50;

pub(super) async fn entry(bench: &mut Bench) -> Result<Vec<Row>> {
    let calls = bench.pick(5_000, 2_000);
    let bed = Bed::durable(&bench.places).await?;
    let session = bed.session(&[Component::tools()]).await?;
    let id = session.id.clone();
    session.unload().await;
    let file = bed.path().join("journal.db");
    let dir = bed.close().await;
    let before = std::fs::metadata(&file)?.len();

    let bed = Bed::on(&bench.places, dir, SNAPSHOT_ENTRIES).await?;
    let first = bed.store.head(&id).await?.unwrap_or_default().seq;
    let mut session = Session::load(&bed.host, &id).await?;
    session.turn(&Plan { calls, ..Plan::work(TEXT_BYTES) }).await?;
    session.unload().await;
    let dir = bed.close().await;
    let after = std::fs::metadata(&file)?.len();

    let store = SqliteStore::open(&file, OpenOptions { read_only: true }).await?;
    let (mut entries, mut payload) = (0_u64, 0_u64);
    loop {
        let records = store.read(&id, first + entries, 1_000).await?;
        if records.is_empty() {
            break;
        }
        entries += records.len() as u64;
        let sizes = records.iter().filter_map(|record| Some(record.payload.as_ref()?.bytes.len() as u64));
        payload += sizes.sum::<u64>();
    }
    store.close().await;
    drop(dir);
    let each = |bytes: u64| bytes as f64 / entries.max(1) as f64;
    let row = Row::new("bytes stored of a small entry", Unit::Bytes, Spread::only(each(after - before)));
    let note = format!("{:.0} of them are what it says; of {entries} entries", each(payload));
    Ok(vec![row.target(Target::at_most(400.0)).note(note)])
}
