-- A key of read_keys may be a service token: it has a scope then, and the name of a service, which is no user's, as username.
-- Releases before find no such user, and refuse it.

ALTER TABLE read_keys ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE read_keys ADD COLUMN used_ms BIGINT NOT NULL DEFAULT 0;
