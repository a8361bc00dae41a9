-- The tables of users, organizations, keys and logins.

CREATE TABLE users (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL, -- all but the hash
    hash TEXT NOT NULL  -- PHC string of the password's argon2id hash
);

CREATE TABLE organizations (
    id      BIGINT PRIMARY KEY,
    acronym TEXT NOT NULL UNIQUE,
    name    TEXT NOT NULL
);

-- The keys that sign tokens. Whoever reads this table can sign: the file's mode keeps others away.
CREATE TABLE signing_keys (
    id           TEXT PRIMARY KEY,
    seed         BYTEA NOT NULL,
    created_ms   BIGINT NOT NULL,
    not_after_ms BIGINT NOT NULL
);

CREATE TABLE revocations (
    id       TEXT PRIMARY KEY,
    until_ms BIGINT NOT NULL
);

-- Logins that have been renewed or revoked: no token, only what it was made of.
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    username   TEXT NOT NULL,
    expires_ms BIGINT NOT NULL,
    parent     TEXT NOT NULL,
    refresh    TEXT NOT NULL, -- jti of the only refresh token that may be used next
    child      TEXT NOT NULL,
    revoked_ms BIGINT NOT NULL
);

-- Keys that only read, for clients that cannot log in. The key itself is nowhere: sum is its SHA-256.
CREATE TABLE read_keys (
    id         TEXT PRIMARY KEY,
    username   TEXT NOT NULL,
    title      TEXT NOT NULL,
    sum        BYTEA NOT NULL,
    created_ms BIGINT NOT NULL
);

CREATE TABLE attempts (
    key             TEXT PRIMARY KEY,
    failures        BIGINT NOT NULL,
    last_failure_ms BIGINT NOT NULL,
    last_success_ms BIGINT NOT NULL
);

CREATE TABLE audit (
    id      BIGINT PRIMARY KEY,
    at_ms   BIGINT NOT NULL,
    actor   TEXT NOT NULL,
    addr    TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL,
    ok      BOOLEAN NOT NULL
);
CREATE INDEX audit_by_time ON audit (at_ms);

INSERT INTO counters (name, value) VALUES ('audit', 0);
