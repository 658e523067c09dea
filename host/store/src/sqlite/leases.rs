//! Leases in SQLite: who and until when in a row of their own, the epoch in the session's row, where
//! every append checks it.

use rewake_core::ids::{HostId, SessionId, Timestamp};
use rusqlite::{Connection, Row, params};

use super::job::{Operation, Stop};
use super::{SqliteStore, now};
use crate::ports::{Answer, Lease, Leases};
use crate::{Position, StoreError};

/// Who has a session's lease, and where the session stands.
const HOLDER: &str = "SELECT l.host, l.expires_at, s.epoch, s.head_seq FROM sessions AS s \
                      LEFT JOIN leases AS l ON l.session = s.id WHERE s.id = ?";

impl Leases for SqliteStore {
    fn acquire<'a>(
        &'a self,
        session: &'a SessionId,
        host: &'a HostId,
        ttl_ms: u64,
        dead: &'a (dyn Fn(&HostId) -> bool + Sync),
    ) -> Answer<'a, Lease> {
        Box::pin(async move {
            // Whether its host is dead is asked of the holder found here; the transaction compares it.
            let holder = self.holder(session).await?;
            let dead = holder.filter(|lease| lease.expires_at > now() && dead(&lease.host));
            let id = self.shared.keys(session).await?.session;
            self.ask(Acquire { id, session: session.clone(), host: host.clone(), ttl_ms, dead }).await?
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl_ms: u64) -> Answer<'a, Lease> {
        Box::pin(async move {
            let id = self.shared.keys(&lease.session).await?.session;
            self.ask(Renew { id, lease: lease.clone(), ttl_ms }).await
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()> {
        Box::pin(async move {
            let id = self.shared.keys(&lease.session).await?.session;
            self.ask(Release { id, lease: lease.clone() }).await
        })
    }

    fn holder<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Lease>> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            let held = self
                .query(format!("the lease of {session}"), move |connection| Ok(Held::read(connection, id)?))
                .await?;
            Ok(held.lease(session))
        })
    }
}

/// What a session's rows say of its lease.
struct Held {
    by: Option<(String, Timestamp)>,
    position: Position,
}

impl Held {
    fn read(connection: &Connection, id: i64) -> rusqlite::Result<Self> {
        let held = |row: &Row<'_>| {
            let (host, expires_at): (Option<String>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(Held {
                by: host.zip(expires_at.map(Timestamp)),
                position: Position { epoch: row.get(2)?, seq: row.get(3)? },
            })
        };
        connection.prepare_cached(HOLDER)?.query_row([id], held)
    }

    fn lease(self, session: &SessionId) -> Option<Lease> {
        let (host, expires_at) = self.by?;
        let host = HostId::parse(&host).ok()?;
        Some(Lease { session: session.clone(), host, epoch: self.position.epoch, expires_at })
    }

    fn is_of(&self, lease: &Lease) -> bool {
        self.position.epoch == lease.epoch
            && self.by.as_ref().is_some_and(|(host, _)| host == lease.host.as_str())
    }
}

/// The end of a lease that begins now.
fn end(ttl_ms: u64) -> Timestamp {
    Timestamp(now().0.saturating_add(i64::try_from(ttl_ms).unwrap_or(i64::MAX)))
}

fn set_end(connection: &Connection, id: i64, end: Timestamp) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached("UPDATE leases SET expires_at = ? WHERE session = ?")?;
    update.execute([end.0, id]).map(|_| ())
}

/// Takes a lease.
struct Acquire {
    id: i64,
    session: SessionId,
    host: HostId,
    ttl_ms: u64,
    /// A lease whose host was found dead.
    dead: Option<Lease>,
}

impl Operation for Acquire {
    /// Being busy is an answer, not a refusal: the lease that is in the way may have been cut.
    type Output = crate::Result<Lease>;

    fn run(&self, connection: &Connection) -> Result<Self::Output, Stop> {
        let held = Held::read(connection, self.id)?;
        let expires_at = end(self.ttl_ms);
        let epoch = held.position.epoch + 1;
        let is_dead = self.dead.as_ref().is_some_and(|lease| held.is_of(lease));
        if let Some(lease) = held.lease(&self.session)
            && lease.host != self.host
            && lease.expires_at > now()
            && !is_dead
        {
            if lease.expires_at > expires_at {
                set_end(connection, self.id, expires_at)?;
            }
            return Ok(Err(StoreError::Busy {
                session: lease.session,
                holder: lease.host,
                process: None,
                expires_at: lease.expires_at.min(expires_at),
            }));
        }
        connection
            .prepare_cached("UPDATE sessions SET epoch = ? WHERE id = ?")?
            .execute(params![epoch, self.id])?;
        connection
            .prepare_cached(
                "INSERT INTO leases (session, host, expires_at) VALUES (?, ?, ?) ON CONFLICT (session) \
                 DO UPDATE SET host = excluded.host, expires_at = excluded.expires_at",
            )?
            .execute(params![self.id, self.host.as_str(), expires_at.0])?;
        Ok(Ok(Lease { session: self.session.clone(), host: self.host.clone(), epoch, expires_at }))
    }
}

/// Makes a lease last longer.
struct Renew {
    id: i64,
    lease: Lease,
    ttl_ms: u64,
}

impl Operation for Renew {
    type Output = Lease;

    fn run(&self, connection: &Connection) -> Result<Lease, Stop> {
        let held = Held::read(connection, self.id)?;
        if !held.is_of(&self.lease) {
            let found = held.position;
            return Err(StoreError::Fenced {
                session: self.lease.session.clone(),
                expected: Position { epoch: self.lease.epoch, seq: found.seq },
                found,
            }
            .into());
        }
        let expires_at = end(self.ttl_ms);
        set_end(connection, self.id, expires_at)?;
        Ok(Lease { expires_at, ..self.lease.clone() })
    }
}

/// Gives a lease back.
struct Release {
    id: i64,
    lease: Lease,
}

impl Operation for Release {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        if Held::read(connection, self.id)?.is_of(&self.lease) {
            connection.prepare_cached("DELETE FROM leases WHERE session = ?")?.execute([self.id])?;
        }
        Ok(())
    }
}
