//! Running what may run side by side: the tools of one call, the hooks of one event. Knows neither.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;

use crate::event::Unrecorded;

/// Runs all of it, each in a task of its own, and returns what comes of it as it ends. A single one needs no task:
/// another thread that is woken for it costs more than most calls of a guest.
///
/// What panics is a bug of the host: anyone who waits is told that it was dropped, and what it did is settled as lost.
pub(crate) async fn join_all<T, F>(mut work: Vec<F>) -> Result<Vec<T>, Unrecorded>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Unrecorded>> + Send + 'static,
{
    if work.len() == 1
        && let Some(only) = work.pop()
    {
        let ended = AssertUnwindSafe(only).catch_unwind().await;
        return Ok(vec![ended.map_err(|_| Unrecorded::Dropped)??]);
    }
    let mut tasks: JoinSet<Result<T, Unrecorded>> = work.into_iter().collect();
    let mut ended = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        ended.push(joined.map_err(|_| Unrecorded::Dropped)??);
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn one(n: u32) -> Result<u32, Unrecorded> {
        assert_ne!(n, 0, "as the test wants it");
        Ok(n)
    }

    #[tokio::test]
    async fn all_of_it_ends() {
        for count in 0..4 {
            let mut ended = join_all((1..=count).map(one).collect()).await.unwrap();
            ended.sort_unstable();
            assert_eq!(ended, (1..=count).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_panic_is_told_as_dropped() {
        for work in [vec![one(0)], vec![one(1), one(0), one(2)]] {
            assert!(matches!(join_all(work).await, Err(Unrecorded::Dropped)));
        }
    }
}
