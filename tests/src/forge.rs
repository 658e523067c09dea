//! Journals that no host wrote: read, changed and sealed again with a chain that holds, as somebody could
//! who has the file and knows the format; and as another version of a host could.

use rewake_core::codec::{self, Record, Seal};
use rewake_core::entry::{Draft, Entry};
use rewake_core::ids::{Head, HostId, SessionId};
use rewake_core::session::{self, Session};
use rewake_runtime::PROJECT;
use rewake_store::{Append, NewSession, Projection, SavedState, Store};

/// How long a forger holds a lease.
const LEASE_MS: u64 = 60_000;

/// All entries of a session.
///
/// # Panics
/// If they cannot be read.
pub async fn entries(store: &dyn Store, id: &SessionId) -> Vec<Entry> {
    let mut head = Head::default();
    let records = store.read(id, 0, u32::MAX).await.expect("readable");
    let open = |record: &Record| {
        let entry = codec::open(id, head, record).expect("a whole journal");
        head = Head { seq: entry.seq, hash: entry.hash };
        entry
    };
    records.iter().map(open).collect()
}

/// Entries as drafts, to be changed and sealed again.
pub fn drafts(entries: &[Entry]) -> Vec<Draft> {
    let draft = |entry: &Entry| Draft::by(entry.actor.clone(), entry.place, entry.fact.clone());
    entries.iter().map(draft).collect()
}

/// Creates a session whose journal is these drafts.
///
/// # Panics
/// If they are no journal.
pub async fn create(store: &dyn Store, id: &SessionId, drafts: Vec<Draft>) {
    let mut session = Session::new(id.clone());
    let records = seal(store, &mut session, 0, drafts);
    let new = NewSession {
        session: id.clone(),
        project: PROJECT.into(),
        epoch: 0,
        records,
        projection: Projection::of(&session),
        bundles: session.pins().bundles.iter().map(|bundle| bundle.digest).collect(),
        vouchers: vec![],
    };
    store.create(new).await.expect("created");
}

/// Appends drafts to a session, as a host of another version would.
///
/// # Panics
/// If they do not follow.
pub async fn append(
    store: &dyn Store,
    id: &SessionId,
    drafts: Vec<Draft>,
    taken: Vec<u64>,
    state: Option<(u32, Vec<u8>)>,
) {
    let host = HostId::parse("host_forger").expect("an id");
    let lease = store.acquire(id, &host, LEASE_MS, &|_| false).await.expect("a lease");
    let mut session = session::fold(id.clone(), &entries(store, id).await).expect("a whole journal");
    let expected = session.head;
    let records = seal(store, &mut session, lease.epoch, drafts);
    let state = state.map(|(version, bytes)| SavedState {
        version,
        digest: rewake_core::ids::Digest::of(&bytes),
        bytes,
        step_seq: session.head.seq,
    });
    let append = Append {
        session: id.clone(),
        epoch: lease.epoch,
        expected,
        records,
        taken,
        inbox_through: None,
        state,
        blobs: Vec::new(),
        projection: Projection::of(&session),
    };
    store.append(append).await.expect("appended");
    store.release(&lease).await.expect("released");
}

fn seal(store: &dyn Store, session: &mut Session, epoch: u64, drafts: Vec<Draft>) -> Vec<Record> {
    let seal = |draft: Draft| {
        let at = store.now();
        let seal = Seal { epoch, at, salt: [7; 16] };
        let (entry, record) = codec::seal(&session.id, session.head, seal, draft).expect("within limits");
        session.apply(&entry).expect("it follows");
        record
    };
    drafts.into_iter().map(seal).collect()
}
