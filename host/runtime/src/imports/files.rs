//! A harness's files (journal.md R8): its mounts are read-only, and what it sees there are observations. A
//! replay is told the same without a look at the disk.

use futures_util::future::BoxFuture;
use rewake_core::difference::Difference;
use rewake_core::fact::{FileAnswer, FileObserved, Observed};
use rewake_wasi::FileUse;
use wasmtime::Result;

use crate::record::{Recorder, misfit};

/// Bytes of observations that wait for the next call; more are written without one.
const PENDING_BYTES_MAX: usize = 1 << 20;

pub(super) async fn use_file(
    recorder: &mut Recorder,
    asked: &FileUse,
    live: BoxFuture<'_, Result<FileAnswer>>,
) -> Result<FileAnswer> {
    let op = asked.op;
    let replayed = |recorded| {
        let Observed::File(before) = recorded else { return Err(misfit(&recorded)) };
        for (field, before, now) in [
            ("path", &before.path, &asked.path),
            ("to", &before.to, &asked.to),
            ("detail", &before.detail, &asked.detail),
        ] {
            if before != now {
                let (path, expected, got) = (field.to_owned(), before.clone(), now.clone());
                return Err(Difference { path, expected, got });
            }
        }
        Ok(before.answer)
    };
    let live = async |_: &mut Recorder| {
        let answer = live.await?;
        let FileUse { op, path, to, detail, content: _ } = asked.clone();
        Ok((Observed::File(FileObserved { op, path, to, detail, answer: answer.clone() }), answer))
    };
    let answer = recorder.observe(op.function(), replayed, live).await?;
    if recorder.pending_bytes() > PENDING_BYTES_MAX {
        recorder.write_observed();
    }
    Ok(answer)
}
