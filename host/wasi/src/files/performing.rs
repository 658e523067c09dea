//! What is being done with files for one instance: one thing at a time, on a thread that may wait, or in
//! place where all must be in one order.
//!
//! A call that is dropped leaves what it began to its end: a disk cannot be interrupted. Anyone who dropped it
//! waits for that ([`Performing::settled`]); and as long as it goes on, it keeps what the instance was given
//! to be kept.

use std::any::Any;
use std::sync::Arc;

use tokio::task::{JoinError, JoinHandle};
use wasmtime::{Result, format_err};

use super::{FileUse, Live};

pub(super) struct Performing {
    begun: Option<Begun>,
    while_busy: Option<Arc<dyn Any + Send + Sync>>,
    in_place: bool,
}

struct Begun {
    asked: FileUse,
    task: JoinHandle<Live>,
}

impl Performing {
    pub(super) fn new(while_busy: Option<Arc<dyn Any + Send + Sync>>, in_place: bool) -> Performing {
        Performing { begun: None, while_busy, in_place }
    }

    /// Performs a use, and returns what came of it.
    pub(super) async fn perform(
        &mut self,
        asked: FileUse,
        live: impl FnOnce() -> Live + Send + 'static,
    ) -> Result<Live> {
        if self.in_place {
            return Ok(live());
        }
        let kept = self.while_busy.clone();
        let task = tokio::task::spawn_blocking(move || {
            let performed = live();
            drop(kept);
            performed
        });
        self.begun = Some(Begun { asked, task });
        let ended = self.ended().await?;
        let performed = ended.map(|(_, performed)| performed);
        performed.ok_or_else(|| format_err!("a use of a file was withdrawn while it was waited for"))
    }

    /// What came of a use that was dropped; none, if there is none, or it had not begun.
    pub(super) async fn settled(&mut self) -> Result<Option<(FileUse, Live)>> {
        if let Some(begun) = &self.begun {
            begun.task.abort();
        }
        self.ended().await
    }

    /// Dropped, it can be asked again.
    async fn ended(&mut self) -> Result<Option<(FileUse, Live)>> {
        let Some(begun) = &mut self.begun else { return Ok(None) };
        let ended: Result<Live, JoinError> = (&mut begun.task).await;
        let Some(Begun { asked, .. }) = self.begun.take() else { return Ok(None) };
        match ended {
            Ok(performed) => Ok(Some((asked, performed))),
            Err(error) if error.is_cancelled() => Ok(None),
            Err(error) => Err(format_err!("a file's task died: {error}")),
        }
    }
}

impl Drop for Performing {
    fn drop(&mut self) {
        if let Some(begun) = &self.begun {
            begun.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use bytes::Bytes;

    use rewake_wire::entry::{FileAnswer, FileOp};

    use super::*;

    fn asked() -> FileUse {
        let (path, to, detail) = (String::from("/w/a"), String::new(), String::new());
        FileUse { op: FileOp::Write, path, to, detail, content: Bytes::new() }
    }

    /// What was begun goes on when its call is dropped, is told of afterwards, and keeps what is to be kept
    /// until then.
    #[tokio::test]
    async fn what_is_begun_is_brought_to_its_end() {
        let kept = Arc::new(());
        let mut performing = Performing::new(Some(kept.clone()), false);
        let (begun, is_begun) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        let live = move || {
            begun.send(()).unwrap();
            may_go.recv().unwrap();
            Ok(FileAnswer::Written(3))
        };
        let call = performing.perform(asked(), live);
        assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
        is_begun.recv().unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(20), performing.settled()).await.is_err());
        assert_eq!(Arc::strong_count(&kept), 3);
        go.send(()).unwrap();
        let (of, performed) = performing.settled().await.unwrap().expect("it ended");
        assert_eq!((of, performed), (asked(), Ok(FileAnswer::Written(3))));
        assert_eq!(Arc::strong_count(&kept), 2);
        assert_eq!(performing.settled().await.unwrap(), None);
    }

    /// What has not begun never does.
    #[test]
    fn what_is_not_begun_is_withdrawn() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (go, may_go) = mpsc::channel::<()>();
            let other = tokio::task::spawn_blocking(move || may_go.recv());
            let mut performing = Performing::new(None, false);
            let call = performing.perform(asked(), || panic!("it was performed"));
            assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
            // It is asked for before the one thread there is has come to it.
            let (settled, ()) = tokio::join!(performing.settled(), async { go.send(()).unwrap() });
            assert_eq!(settled.unwrap(), None);
            other.await.unwrap().unwrap();
        });
    }
}
