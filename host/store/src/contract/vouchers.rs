//! Checks of the vouchers' port.

use rewake_core::ids::Digest;

use super::tale::Tale;
use crate::StoreError;
use crate::ports::{NewSession, Store, Voucher};

/// Vouchers are those that a session was created with, and those that came later, each once.
pub(super) async fn are_added(store: &dyn Store) {
    let tale = Tale::new("ses_vouchers");
    let session = &tale.session;
    let of = |by: &str, mac: &[u8]| Voucher {
        bundle: Digest::of(b"bundle"),
        by: by.to_owned(),
        mac: Digest::of(mac),
    };
    assert!(matches!(store.vouchers(session).await, Err(StoreError::NotFound(_))));
    assert!(matches!(store.vouch(session, vec![of("ann", b"1")]).await, Err(StoreError::NotFound(_))));
    store.create(NewSession { vouchers: vec![of("", b"1")], ..tale.creation() }).await.unwrap();
    assert_eq!(store.vouchers(session).await.unwrap(), [of("", b"1")]);
    store.vouch(session, vec![of("ann", b"2"), of("", b"1")]).await.unwrap();
    store.vouch(session, vec![of("ann", b"2")]).await.unwrap();
    store.vouch(session, vec![]).await.unwrap();
    let mut kept = store.vouchers(session).await.unwrap();
    kept.sort_by(|one, other| one.by.cmp(&other.by));
    assert_eq!(kept, [of("", b"1"), of("ann", b"2")]);
}
