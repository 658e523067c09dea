-- Commands about other rows: edits, cancellations and promotions of messages. What they are about stands in a
-- column of its own, so that taking a row in can see that nothing untaken is about it, and a command's insert
-- that the row was not taken back.

ALTER TABLE inbox ADD COLUMN target INTEGER;
-- Serves what is about a row.
CREATE INDEX inbox_by_target ON inbox (session, target) WHERE target IS NOT NULL;

DROP TRIGGER inbox_rows_are_taken_once;
CREATE TRIGGER inbox_rows_are_taken_once BEFORE UPDATE ON inbox
WHEN OLD.taken_seq IS NOT NULL OR NEW.taken_seq IS NULL
    OR NEW.id <> OLD.id OR NEW.session <> OLD.session OR NEW.n <> OLD.n OR NEW.sender <> OLD.sender
    OR NEW.command <> OLD.command OR NEW.dedup_key IS NOT OLD.dedup_key OR NEW.at <> OLD.at
    OR NEW.target IS NOT OLD.target
BEGIN SELECT RAISE(ABORT, 'a row of the inbox is changed once, when it is taken in'); END;
