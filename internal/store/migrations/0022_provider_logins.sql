-- A login by an OpenID provider knows the provider's session, so that its notice of a logout ends what stems from it.

ALTER TABLE sessions ADD COLUMN provider TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_by_provider ON sessions (provider);
