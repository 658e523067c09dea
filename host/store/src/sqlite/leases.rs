//! Leases in SQLite: who and until when in a row of their own, the epoch in the session's row, where
//! every append checks it.

use futures_util::future::BoxFuture;
use rewake_core::ids::{HostId, SessionId, Timestamp};
use sqlx::{Row as _, SqliteConnection};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, now, rows};
use crate::ports::{Answer, Lease, Leases};
use crate::{Position, StoreError};

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
            let failed = |error: sqlx::Error| reading(&format!("the lease of {session}"), &error);
            let row = sqlx::query(HOLDER)
                .bind(id)
                .fetch_one(&*self.shared.readers.read().await)
                .await
                .map_err(failed)?;
            Ok(Held::from(&row).map_err(failed)?.lease(session))
        })
    }
}

/// What a session's rows say of its lease.
struct Held {
    by: Option<(String, Timestamp)>,
    position: Position,
}

impl Held {
    fn from(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
        let host: Option<String> = row.try_get(0)?;
        let expires_at: Option<i64> = row.try_get(1)?;
        Ok(Held {
            by: host.zip(expires_at.map(Timestamp)),
            position: Position { epoch: rows::number(row, 2)?, seq: rows::number(row, 3)? },
        })
    }

    async fn read(connection: &mut SqliteConnection, id: i64) -> sqlx::Result<Self> {
        Held::from(&sqlx::query(HOLDER).bind(id).fetch_one(connection).await?)
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

async fn set_end(connection: &mut SqliteConnection, id: i64, end: Timestamp) -> sqlx::Result<()> {
    let query = sqlx::query("UPDATE leases SET expires_at = ? WHERE session = ?").bind(end.0).bind(id);
    query.execute(connection).await.map(|_| ())
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

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<Self::Output, Stop>> {
        Box::pin(async move {
            let held = Held::read(connection, self.id).await?;
            let expires_at = end(self.ttl_ms);
            let epoch = held.position.epoch + 1;
            let is_dead = self.dead.as_ref().is_some_and(|lease| held.is_of(lease));
            if let Some(lease) = held.lease(&self.session)
                && lease.host != self.host
                && lease.expires_at > now()
                && !is_dead
            {
                if lease.expires_at > expires_at {
                    set_end(connection, self.id, expires_at).await?;
                }
                return Ok(Err(StoreError::Busy {
                    session: lease.session,
                    holder: lease.host,
                    process: None,
                    expires_at: lease.expires_at.min(expires_at),
                }));
            }
            sqlx::query("UPDATE sessions SET epoch = ? WHERE id = ?")
                .bind(epoch as i64)
                .bind(self.id)
                .execute(&mut *connection)
                .await?;
            sqlx::query(
                "INSERT INTO leases (session, host, expires_at) VALUES (?, ?, ?) ON CONFLICT (session) \
                 DO UPDATE SET host = excluded.host, expires_at = excluded.expires_at",
            )
            .bind(self.id)
            .bind(self.host.as_str())
            .bind(expires_at.0)
            .execute(connection)
            .await?;
            Ok(Ok(Lease { session: self.session.clone(), host: self.host.clone(), epoch, expires_at }))
        })
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

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<Lease, Stop>> {
        Box::pin(async move {
            let held = Held::read(connection, self.id).await?;
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
            set_end(connection, self.id, expires_at).await?;
            Ok(Lease { expires_at, ..self.lease.clone() })
        })
    }
}

/// Gives a lease back.
struct Release {
    id: i64,
    lease: Lease,
}

impl Operation for Release {
    type Output = ();

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<(), Stop>> {
        Box::pin(async move {
            if Held::read(connection, self.id).await?.is_of(&self.lease) {
                sqlx::query("DELETE FROM leases WHERE session = ?").bind(self.id).execute(connection).await?;
            }
            Ok(())
        })
    }
}
