-- Logins and the audit trail say where requests come from. A row of sessions is a login; the release before adds rows without the new columns.

ALTER TABLE audit ADD COLUMN client TEXT NOT NULL DEFAULT '';

ALTER TABLE sessions ADD COLUMN created_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN used_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN addr TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN client TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_user ON sessions (username);
