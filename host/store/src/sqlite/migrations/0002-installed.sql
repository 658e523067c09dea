-- Which of the bundles that are kept can be named. One bundle a name and version, several versions a name.
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
-- Serves finding where a bundle is installed, and that no bundle goes while it is.
CREATE INDEX installed_by_bundle ON installed (bundle);
-- Serves finding content that no bundle has any more.
CREATE INDEX bundle_files_by_content ON bundle_files (content);

CREATE TRIGGER installed_is_not_changed BEFORE UPDATE ON installed
BEGIN SELECT RAISE(ABORT, 'what is installed is taken out and put in, never changed'); END;
-- A session that was made while its bundle was being taken out must not lose it.
CREATE TRIGGER bundles_in_use_stay BEFORE DELETE ON bundles
WHEN EXISTS (SELECT 1 FROM session_bundles WHERE bundle = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a bundle that a session names is not deleted'); END;
