-- The schema. It is edited in place until the tag 0.1.0; from then on only migrations change it (connect.rs).
-- Sessions have an integer key inside this file. The storage refuses what the application must never do
-- (journal.md R0). The triggers need recursive_triggers, which every connection of the host sets: without it,
-- REPLACE deletes rows past them.

CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One row a session: the head of its journal, and the columns that lists show.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL REFERENCES projects (id),
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
WHEN NEW.epoch < OLD.epoch OR NEW.head_seq < OLD.head_seq OR NEW.sealed_through < OLD.sealed_through
BEGIN SELECT RAISE(ABORT, 'epoch, head and sealed_through only grow'); END;
CREATE TRIGGER sessions_are_sealed_by_segments BEFORE UPDATE OF sealed_through ON sessions
WHEN NEW.sealed_through > OLD.sealed_through AND NOT EXISTS (
    SELECT 1 FROM header_segments AS h
    JOIN payload_segments AS p ON p.session = h.session AND p.first_seq = h.first_seq
    WHERE h.session = NEW.id AND h.last_seq = NEW.sealed_through)
BEGIN SELECT RAISE(ABORT, 'sealed_through is the end of a segment'); END;
CREATE TRIGGER sessions_with_entries_stay BEFORE DELETE ON sessions
WHEN EXISTS (SELECT 1 FROM entries WHERE session = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a session with entries is not deleted'); END;

-- The journal. Columns are what the chain hash covers. Payloads are in a table of their own, so that retention
-- can remove them and the chain still verifies.
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
-- Serves reading a session's entries after a seq; and guarantees that a seq is used once.
CREATE UNIQUE INDEX entries_by_seq ON entries (session, seq);

CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;
CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries
WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id = OLD.session AND OLD.seq <= sealed_through)
BEGIN SELECT RAISE(ABORT, 'an entry that is not sealed is never deleted'); END;
-- SQLite may use an entry's id again: a payload left behind would become that of another entry.
CREATE TRIGGER entries_outlive_their_payloads BEFORE DELETE ON entries
WHEN EXISTS (SELECT 1 FROM payloads WHERE entry = OLD.id)
    AND EXISTS (SELECT 1 FROM sessions WHERE id = OLD.session AND OLD.seq <= sealed_through)
BEGIN SELECT RAISE(ABORT, 'the payload of a sealed entry is deleted before the entry'); END;

-- Salt and bytes of an entry's payload. Here and below, `texts` are references to long strings that were cut out of
-- `bytes` and are blobs: for each its place in what is left (4 bytes, little-endian) and its digest (texts.rs).
CREATE TABLE payloads (
    entry INTEGER PRIMARY KEY,
    salt BLOB NOT NULL CHECK (length(salt) = 16),
    bytes BLOB NOT NULL,
    texts BLOB
) STRICT;
-- Which payloads may be removed, and which entry says so. Either entry may be sealed later, so neither is
-- referenced by a foreign key: the naming entry is looked for when the tombstone is inserted.
CREATE TABLE tombstones (
    session INTEGER NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL CHECK (seq > 0),
    named_by INTEGER NOT NULL,
    PRIMARY KEY (session, seq),
    CHECK (named_by > seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER payloads_are_not_changed BEFORE UPDATE ON payloads
BEGIN SELECT RAISE(ABORT, 'a payload is never changed'); END;
CREATE TRIGGER payloads_are_not_deleted BEFORE DELETE ON payloads
WHEN NOT EXISTS (
    SELECT 1 FROM entries AS e JOIN sessions AS s ON s.id = e.session
    WHERE e.id = OLD.entry AND (e.seq <= s.sealed_through
        OR EXISTS (SELECT 1 FROM tombstones AS t WHERE t.session = e.session AND t.seq = e.seq)))
BEGIN SELECT RAISE(ABORT, 'a payload is deleted only if its entry is sealed or named by a tombstone'); END;
CREATE TRIGGER tombstones_are_named_by_entries BEFORE INSERT ON tombstones
WHEN NOT EXISTS (SELECT 1 FROM entries WHERE session = NEW.session AND seq = NEW.named_by)
BEGIN SELECT RAISE(ABORT, 'a tombstone is named by an entry of its session'); END;
CREATE TRIGGER tombstones_are_not_changed BEFORE UPDATE ON tombstones
BEGIN SELECT RAISE(ABORT, 'a tombstone is never changed'); END;
CREATE TRIGGER tombstones_are_not_deleted BEFORE DELETE ON tombstones
BEGIN SELECT RAISE(ABORT, 'a tombstone is never deleted'); END;

-- Sealed entries: a range of seqs, compressed, in two rows. The ranges of a session have no gaps. Headers are what
-- the chain covers, and are never changed.
CREATE TABLE header_segments (
    session INTEGER NOT NULL REFERENCES sessions (id),
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL CHECK (last_seq >= first_seq),
    last_hash BLOB NOT NULL CHECK (length(last_hash) = 32),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, first_seq)
) STRICT;
-- A row of payloads is replaced when tombstones name some of them, by one that lacks all that are named by then. The
-- storage can check the count only; for the payloads that are left, the headers have the digests.
CREATE TABLE payload_segments (
    session INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    lacks INTEGER NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, first_seq),
    FOREIGN KEY (session, first_seq) REFERENCES header_segments (session, first_seq)
) STRICT;

CREATE TRIGGER header_segments_follow_each_other BEFORE INSERT ON header_segments
WHEN NEW.first_seq <> 1 + (SELECT coalesce(max(last_seq), 0) FROM header_segments WHERE session = NEW.session)
    OR NOT EXISTS (
        SELECT 1 FROM entries WHERE session = NEW.session AND seq = NEW.last_seq AND hash = NEW.last_hash)
BEGIN SELECT RAISE(ABORT, 'a segment begins where the last one ended, and ends with an entry'); END;
CREATE TRIGGER header_segments_are_not_changed BEFORE UPDATE ON header_segments
BEGIN SELECT RAISE(ABORT, 'the headers of sealed entries are never changed'); END;
CREATE TRIGGER header_segments_are_not_deleted BEFORE DELETE ON header_segments
BEGIN SELECT RAISE(ABORT, 'the headers of sealed entries are never deleted'); END;
CREATE TRIGGER payload_segments_lack_what_is_named BEFORE INSERT ON payload_segments
WHEN NEW.lacks <> (
    SELECT count(*) FROM tombstones AS t JOIN header_segments AS h ON h.session = t.session
    WHERE h.session = NEW.session AND h.first_seq = NEW.first_seq AND t.seq BETWEEN h.first_seq AND h.last_seq)
BEGIN SELECT RAISE(ABORT, 'sealed payloads lack exactly those that tombstones name'); END;
CREATE TRIGGER payload_segments_lose_what_is_named BEFORE UPDATE ON payload_segments
WHEN NEW.session <> OLD.session OR NEW.first_seq <> OLD.first_seq OR NEW.lacks <= OLD.lacks
    OR NEW.lacks <> (
        SELECT count(*) FROM tombstones AS t JOIN header_segments AS h ON h.session = t.session
        WHERE h.session = OLD.session AND h.first_seq = OLD.first_seq
            AND t.seq BETWEEN h.first_seq AND h.last_seq)
BEGIN SELECT RAISE(ABORT, 'sealed payloads are replaced only to remove those that tombstones name'); END;
CREATE TRIGGER payload_segments_are_not_deleted BEFORE DELETE ON payload_segments
BEGIN SELECT RAISE(ABORT, 'sealed payloads are never deleted'); END;

-- Commands that were sent to sessions. A row is changed once: when an entry accepts it. An edit, a cancellation or a
-- promotion has the message that it is about in a column: accepting that message checks that no such command is
-- left, and inserting one checks that the message was not cancelled.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    n INTEGER NOT NULL CHECK (n > 0),
    sender TEXT NOT NULL,
    command TEXT NOT NULL,
    dedup_key TEXT,
    at INTEGER NOT NULL,
    target INTEGER,
    taken_seq INTEGER
) STRICT;
-- Serves the next number, and accepting a row.
CREATE UNIQUE INDEX inbox_by_n ON inbox (session, n);
-- Serves the rows that are not accepted, and counting them.
CREATE INDEX inbox_untaken ON inbox (session, n) WHERE taken_seq IS NULL;
-- Serves finding an earlier row with the same key.
CREATE UNIQUE INDEX inbox_by_key ON inbox (session, sender, dedup_key) WHERE dedup_key IS NOT NULL;
-- Serves finding the commands about a row.
CREATE INDEX inbox_by_target ON inbox (session, target) WHERE target IS NOT NULL;

CREATE TRIGGER inbox_rows_are_taken_once BEFORE UPDATE ON inbox
WHEN OLD.taken_seq IS NOT NULL OR NEW.taken_seq IS NULL
    OR NEW.id <> OLD.id OR NEW.session <> OLD.session OR NEW.n <> OLD.n OR NEW.sender <> OLD.sender
    OR NEW.command <> OLD.command OR NEW.dedup_key IS NOT OLD.dedup_key OR NEW.at <> OLD.at
    OR NEW.target IS NOT OLD.target
BEGIN SELECT RAISE(ABORT, 'a row of the inbox is changed once, when it is accepted'); END;
CREATE TRIGGER inbox_rows_are_not_deleted BEFORE DELETE ON inbox
BEGIN SELECT RAISE(ABORT, 'a row of the inbox is never deleted'); END;

-- Who may append. The epoch is in the session's row, where every append checks it.
CREATE TABLE leases (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    host TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

-- Which machine's trust key vouches for what is granted to a bundle of a session (ADR 18). Rows are evidence only with
-- the key, and rows of other keys are left alone.
CREATE TABLE vouchers (
    session INTEGER NOT NULL REFERENCES sessions (id),
    bundle BLOB NOT NULL CHECK (length(bundle) = 32),
    mac BLOB NOT NULL CHECK (length(mac) = 32),
    approved_by TEXT NOT NULL,
    PRIMARY KEY (session, bundle, mac)
) STRICT, WITHOUT ROWID;

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

-- Caches of the journal: folds, and the states that steps saved. The bytes are the last column, so that SQLite
-- reads the others without them.
CREATE TABLE snapshots (
    session INTEGER NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    version INTEGER NOT NULL,
    state BLOB,
    texts BLOB,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT;
CREATE TABLE states (
    session INTEGER NOT NULL REFERENCES sessions (id),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    version INTEGER NOT NULL,
    step_seq INTEGER NOT NULL,
    texts BLOB,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT;

-- Bytes by digest, once a project, and which sessions name them.
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES projects (id),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    texts BLOB,
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

-- Bundles by digest; the contents of their files, each once.
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
-- Serves finding content that no bundle has any more.
CREATE INDEX bundle_files_by_content ON bundle_files (content);
-- A session that is created while its bundle is being removed must not lose it.
CREATE TRIGGER bundles_in_use_stay BEFORE DELETE ON bundles
WHEN EXISTS (SELECT 1 FROM session_bundles WHERE bundle = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a bundle that a session names is not deleted'); END;

-- The bundles that can be named. One bundle a name and version, several versions a name.
CREATE TABLE installed (
    project INTEGER NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    bundle INTEGER NOT NULL REFERENCES bundles (id),
    source TEXT NOT NULL,
    installed_by TEXT NOT NULL,
    installed_at INTEGER NOT NULL,
    PRIMARY KEY (project, name, version)
) STRICT, WITHOUT ROWID;
-- Serves finding where a bundle is installed, and that no bundle is deleted while it is.
CREATE INDEX installed_by_bundle ON installed (bundle);

CREATE TRIGGER installed_is_not_changed BEFORE UPDATE ON installed
BEGIN SELECT RAISE(ABORT, 'a row of what is installed is inserted and deleted, never changed'); END;
