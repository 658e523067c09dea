-- The first schema. Sessions are known by an integer key inside of this file. What the application must
-- never do, the storage refuses (journal.md R0); the triggers hold on connections with
-- recursive_triggers on, which every connection of the host sets, so that REPLACE cannot pass by them.

CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One row a session: where its journal stands, and what lists show of it.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL REFERENCES projects (id),
    lineage INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_hash BLOB NOT NULL CHECK (length(head_hash) = 32),
    sealed_through INTEGER NOT NULL DEFAULT 0,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT,
    turns INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER sessions_are_not_renamed BEFORE UPDATE OF id, name, project, created_at ON sessions
BEGIN SELECT RAISE(ABORT, 'a session keeps its id, name and project'); END;
CREATE TRIGGER sessions_only_move_on BEFORE UPDATE OF epoch, head_seq, sealed_through ON sessions
WHEN NEW.epoch < OLD.epoch OR NEW.head_seq < OLD.head_seq
    OR NEW.sealed_through < OLD.sealed_through OR NEW.sealed_through > NEW.head_seq
BEGIN SELECT RAISE(ABORT, 'epoch, head and sealed_through only grow'); END;
CREATE TRIGGER sessions_with_entries_stay BEFORE DELETE ON sessions
WHEN EXISTS (SELECT 1 FROM entries WHERE session = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a session with entries is not deleted'); END;

-- The journal. Columns are what the chain hash covers; payloads stand apart, so that retention can
-- remove them and the chain still verifies.
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL CHECK (seq > 0),
    epoch INTEGER NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    use_index INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    payload_digest BLOB NOT NULL CHECK (length(payload_digest) = 32),
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
-- Serves reading a session's entries after a seq; and says once more that a seq is used once.
CREATE UNIQUE INDEX entries_by_seq ON entries (session, seq);

CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries
WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id = OLD.session AND OLD.seq <= sealed_through)
BEGIN SELECT RAISE(ABORT, 'an entry that is not sealed is never deleted'); END;

-- Salt and bytes of an entry's payload; above the inline limit the bytes are a blob, named by digest.
CREATE TABLE payloads (
    entry INTEGER PRIMARY KEY,
    salt BLOB NOT NULL CHECK (length(salt) = 16),
    bytes BLOB,
    blob BLOB,
    CHECK ((bytes IS NULL) <> (blob IS NULL))
) STRICT;
-- Which payloads may be removed, and which entry says so.
CREATE TABLE tombstones (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    named_by INTEGER NOT NULL,
    PRIMARY KEY (session, seq),
    FOREIGN KEY (session, named_by) REFERENCES entries (session, seq),
    CHECK (named_by > seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER payloads_are_not_changed BEFORE UPDATE ON payloads
BEGIN SELECT RAISE(ABORT, 'a payload is never changed'); END;
CREATE TRIGGER payloads_are_not_deleted BEFORE DELETE ON payloads
WHEN NOT EXISTS (
    SELECT 1 FROM entries e JOIN tombstones t ON t.session = e.session AND t.seq = e.seq
    WHERE e.id = OLD.entry)
BEGIN SELECT RAISE(ABORT, 'a payload is deleted only where a tombstone names its entry'); END;
CREATE TRIGGER tombstones_are_not_changed BEFORE UPDATE ON tombstones
BEGIN SELECT RAISE(ABORT, 'a tombstone is never changed'); END;
CREATE TRIGGER tombstones_are_not_deleted BEFORE DELETE ON tombstones
BEGIN SELECT RAISE(ABORT, 'a tombstone is never deleted'); END;

-- Old entries, sealed: compressed and in the order of their session.
CREATE TABLE segments (
    session INTEGER NOT NULL REFERENCES sessions (id),
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL CHECK (last_seq >= first_seq),
    last_hash BLOB NOT NULL CHECK (length(last_hash) = 32),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, first_seq)
) STRICT;

-- What was sent to sessions. A row is changed once: when an entry takes it in.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    n INTEGER NOT NULL CHECK (n > 0),
    sender TEXT NOT NULL,
    command TEXT NOT NULL,
    dedup_key TEXT,
    at INTEGER NOT NULL,
    taken_seq INTEGER
) STRICT;
-- Serves the next number, and taking a row in.
CREATE UNIQUE INDEX inbox_by_n ON inbox (session, n);
-- Serves the rows that are not taken in, and counting them.
CREATE INDEX inbox_untaken ON inbox (session, n) WHERE taken_seq IS NULL;
-- Serves finding what was sent with the same key before.
CREATE UNIQUE INDEX inbox_by_key ON inbox (session, sender, dedup_key) WHERE dedup_key IS NOT NULL;

CREATE TRIGGER inbox_rows_are_taken_once BEFORE UPDATE ON inbox
WHEN OLD.taken_seq IS NOT NULL OR NEW.taken_seq IS NULL
    OR NEW.id <> OLD.id OR NEW.session <> OLD.session OR NEW.n <> OLD.n OR NEW.sender <> OLD.sender
    OR NEW.command <> OLD.command OR NEW.dedup_key IS NOT OLD.dedup_key OR NEW.at <> OLD.at
BEGIN SELECT RAISE(ABORT, 'a row of the inbox is changed once, when it is taken in'); END;
CREATE TRIGGER inbox_rows_are_not_deleted BEFORE DELETE ON inbox
BEGIN SELECT RAISE(ABORT, 'a row of the inbox is never deleted'); END;

-- Who may append. The epoch stands in the session's row, where every append checks it.
CREATE TABLE leases (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    host TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Why a session takes no step here.
CREATE TABLE faults (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    reason TEXT NOT NULL,
    fault TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER storage_faults_clear_themselves AFTER UPDATE OF head_seq ON sessions
WHEN EXISTS (SELECT 1 FROM faults WHERE session = NEW.id AND reason = 'storage')
BEGIN DELETE FROM faults WHERE session = NEW.id; END;

-- Caches of the journal: folds, and what steps saved. The bytes come last, so that what stands before
-- them is read without them.
CREATE TABLE snapshots (
    session INTEGER NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    version INTEGER NOT NULL,
    state BLOB,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT;
CREATE TABLE states (
    session INTEGER NOT NULL REFERENCES sessions (id),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    version INTEGER NOT NULL,
    step_seq INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT;

-- Bytes by digest, once a project, and which session holds on to them.
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES projects (id),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    bytes BLOB NOT NULL
) STRICT;
-- Serves finding a blob.
CREATE UNIQUE INDEX blobs_by_digest ON blobs (project, digest);
CREATE TABLE blob_refs (
    blob INTEGER NOT NULL REFERENCES blobs (id),
    session INTEGER NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    PRIMARY KEY (blob, session)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER blobs_are_not_changed BEFORE UPDATE ON blobs
BEGIN SELECT RAISE(ABORT, 'a blob is never changed'); END;
CREATE TRIGGER blobs_in_use_stay BEFORE DELETE ON blobs
WHEN EXISTS (SELECT 1 FROM blob_refs WHERE blob = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a blob that a session names is not deleted'); END;

-- Bundles by digest; what their files hold, once by content.
CREATE TABLE bundles (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    added_at INTEGER NOT NULL
) STRICT;
CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    bytes BLOB NOT NULL
) STRICT;
CREATE TABLE bundle_files (
    bundle INTEGER NOT NULL REFERENCES bundles (id),
    path TEXT NOT NULL,
    content INTEGER NOT NULL REFERENCES contents (id),
    PRIMARY KEY (bundle, path)
) STRICT, WITHOUT ROWID;
-- A bundle is kept while any session names it.
CREATE TABLE session_bundles (
    session INTEGER NOT NULL REFERENCES sessions (id),
    bundle INTEGER NOT NULL REFERENCES bundles (id),
    PRIMARY KEY (session, bundle)
) STRICT, WITHOUT ROWID;
-- Serves asking whether any session names a bundle.
CREATE INDEX session_bundles_by_bundle ON session_bundles (bundle);

-- What was asked with a key before, and what was answered.
CREATE TABLE idempotency_keys (
    project INTEGER NOT NULL REFERENCES projects (id),
    principal TEXT NOT NULL,
    dedup_key TEXT NOT NULL,
    request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),
    answer TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (project, principal, dedup_key)
) STRICT;

-- Never holds a row: a transaction whose conditions do not hold tries to insert NULL and so fails whole.
CREATE TABLE asserts (holds INTEGER NOT NULL) STRICT;
