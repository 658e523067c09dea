//! A harness's files (journal.md R8): its mounts are read-only, and what it sees there are observations. A
//! replay is told the same without a look at the disk.

use rewake_core::difference::Difference;
use rewake_core::fact::{FileAnswer, FileObserved, Observed};
use rewake_wasi::FileUse;
use wasmtime::Result;

use crate::record::Recorder;

/// Bytes of observations that wait for the next call; more are written without one.
const PENDING_BYTES_MAX: usize = 1 << 20;

pub(super) fn replayed(recorder: &mut Recorder, asked: &FileUse) -> Result<Option<FileAnswer>> {
    let op = asked.op;
    let Some(Observed::File(before)) = recorder.recorded(op.function())? else { return Ok(None) };
    for (field, before, now) in [
        ("path", &before.path, &asked.path),
        ("to", &before.to, &asked.to),
        ("detail", &before.detail, &asked.detail),
    ] {
        if before != now {
            let (path, expected, got) = (field.to_owned(), before.clone(), now.clone());
            return Err(recorder.misread(op.function(), Difference { path, expected, got }));
        }
    }
    Ok(Some(before.answer))
}

pub(super) fn observed(recorder: &mut Recorder, asked: &FileUse, answer: &FileAnswer) -> Result<()> {
    let FileUse { op, path, to, detail, content: _ } = asked.clone();
    recorder.observed(Observed::File(FileObserved { op, path, to, detail, answer: answer.clone() }))?;
    if recorder.pending_bytes() > PENDING_BYTES_MAX {
        recorder.write_observed();
    }
    Ok(())
}
