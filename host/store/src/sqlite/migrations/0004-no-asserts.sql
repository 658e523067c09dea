-- Conditions are looked at within the transaction, before anything is written, and not by a statement that fails.
DROP TABLE asserts;
