//! The connections that read, each made when it is needed. A reading runs on a thread of its own, so that nothing
//! asynchronous waits for a disk.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::connect::Location;
use super::failure::reading;
use super::job::Stop;
use super::lock;
use crate::{Result, StoreError};

/// Connections that read at the same time.
const READERS_MAX: usize = 4;

/// Steps of SQLite's machine that one reading takes at most: seconds, and far more than any reading of a store needs.
const STEPS_MAX: u64 = 1 << 30;
/// Steps after which they are counted.
const STEPS_COUNTED: u16 = 1 << 12;

/// How long a reading waits for others.
const PERMIT_MAX: Duration = Duration::from_secs(30);

/// All of them.
pub(super) struct Readers {
    location: Location,
    permits: Arc<Semaphore>,
    /// Held for reading during every reading, so that closing waits for all of them.
    idle: RwLock<Idle>,
}

/// Those that nobody uses.
enum Idle {
    Open(Mutex<Vec<Connection>>),
    Closed,
}

impl Readers {
    pub(super) fn new(location: Location) -> Self {
        let idle = RwLock::new(Idle::Open(Mutex::default()));
        Readers { location, permits: Arc::new(Semaphore::new(READERS_MAX)), idle }
    }

    /// Reads something with one of them.
    pub(super) async fn read<T, F>(self: &Arc<Self>, what: impl Into<String>, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> std::result::Result<T, Stop> + Send + 'static,
    {
        self.read_within(STEPS_MAX, what, query).await
    }

    /// The same, with a bound of its own.
    pub(super) async fn read_within<T, F>(
        self: &Arc<Self>,
        steps_max: u64,
        what: impl Into<String>,
        query: F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> std::result::Result<T, Stop> + Send + 'static,
    {
        let what = what.into();
        let permit = timeout(PERMIT_MAX, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| {
                StoreError::io(format!("reading {what}"), "other readings take too long; try again")
            })?
            .expect("it is never closed");
        let readers = Arc::clone(self);
        blocking(move || {
            let _permit = permit;
            readers.with_connection(steps_max, |connection| {
                query(connection).map_err(|stop| match stop {
                    Stop::Refused(why) => why,
                    Stop::Sql(error) => reading(&what, &error),
                })
            })
        })
        .await
    }

    fn with_connection<T>(&self, steps_max: u64, query: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.idle.read().unwrap_or_else(PoisonError::into_inner);
        let Idle::Open(idle) = &*idle else { return Err(StoreError::Closed) };
        let known = lock(idle).pop();
        let mut connection = known.map_or_else(|| self.location.reader(), Ok)?;
        let mut counts = steps_max / u64::from(STEPS_COUNTED);
        let is_too_long = move || {
            counts = counts.saturating_sub(1);
            counts == 0
        };
        connection
            .progress_handler(STEPS_COUNTED.into(), Some(is_too_long))
            .map_err(|error| reading("the store", &error))?;
        let outcome = query(&connection);
        lock(idle).push(connection);
        outcome
    }

    /// Closes them, after all that is being read, and does something while none is open; the next reading opens the
    /// file again.
    pub(super) fn while_closed<T>(&self, work: impl FnOnce() -> T) -> T {
        let idle = self.idle.write().unwrap_or_else(PoisonError::into_inner);
        if let Idle::Open(connections) = &*idle {
            lock(connections).clear();
        }
        work()
    }

    /// Closes them for good.
    pub(super) fn close(&self) {
        *self.idle.write().unwrap_or_else(PoisonError::into_inner) = Idle::Closed;
    }
}

/// Runs what waits for a disk on a thread where waiting does no harm.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(broken) if broken.is_panic() => std::panic::resume_unwind(broken.into_panic()),
        // The runtime ends.
        Err(_) => Err(StoreError::Closed),
    }
}
