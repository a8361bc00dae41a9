-- The audit trail says in which request a row was written. The release before adds rows without it.

ALTER TABLE audit ADD COLUMN request TEXT NOT NULL DEFAULT '';
