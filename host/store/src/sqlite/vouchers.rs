//! Vouchers in SQLite.

use rewake_core::ids::{Digest, SessionId};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::job::{Operation, Stop};
use crate::ports::{Answer, VOUCHERS_MAX, Voucher, Vouchers};

impl Vouchers for SqliteStore {
    fn vouch<'a>(&'a self, session: &'a SessionId, vouchers: Vec<Voucher>) -> Answer<'a, ()> {
        Box::pin(async move {
            let session = self.shared.keys(session).await?.session;
            self.ask(Vouch { session, vouchers }).await
        })
    }

    fn vouchers<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Voucher>> {
        Box::pin(async move {
            let key = self.shared.keys(session).await?.session;
            self.query(format!("the vouchers of {session}"), move |connection| {
                let mut query = connection.prepare_cached(
                    "SELECT bundle, approved_by, mac FROM vouchers WHERE session = ? LIMIT ?",
                )?;
                let rows = query.query_map(params![key, VOUCHERS_MAX], |row| {
                    Ok(Voucher { bundle: Digest(row.get(0)?), by: row.get(1)?, mac: Digest(row.get(2)?) })
                })?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await
        })
    }
}

/// Writes vouchers within a transaction.
pub(super) fn insert(connection: &Connection, session: i64, vouchers: &[Voucher]) -> rusqlite::Result<()> {
    for voucher in vouchers {
        connection
            .prepare_cached(
                "INSERT INTO vouchers (session, bundle, mac, approved_by) VALUES (?, ?, ?, ?) \
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![session, voucher.bundle.0, voucher.mac.0, voucher.by])?;
    }
    Ok(())
}

/// Adds vouchers to a session that is there.
struct Vouch {
    session: i64,
    vouchers: Vec<Voucher>,
}

impl Operation for Vouch {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        Ok(insert(connection, self.session, &self.vouchers)?)
    }

    fn rows(&self) -> usize {
        self.vouchers.len()
    }
}
