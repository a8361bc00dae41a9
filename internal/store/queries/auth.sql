-- name: Users :many
SELECT name, body, hash FROM users ORDER BY name;

-- name: User :one
SELECT body, hash FROM users WHERE name = $1;

-- name: AddUser :execrows
INSERT INTO users (name, body, hash) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING;

-- name: SaveUser :exec
UPDATE users SET body = sqlc.arg(body), hash = sqlc.arg(hash) WHERE name = sqlc.arg(name);

-- name: Organizations :many
SELECT id, acronym, name FROM organizations ORDER BY id;

-- name: AddOrganization :execrows
INSERT INTO organizations (id, acronym, name) VALUES ($1, $2, $3) ON CONFLICT (acronym) DO NOTHING;

-- name: SigningKeys :many
SELECT id, seed, created_ms, not_after_ms FROM signing_keys ORDER BY created_ms, id;

-- name: AddSigningKey :exec
INSERT INTO signing_keys (id, seed, created_ms, not_after_ms) VALUES ($1, $2, $3, $4);

-- name: ReadKeys :many
SELECT id, username, title, sum, created_ms, scope, used_ms FROM read_keys ORDER BY created_ms, id;

-- name: AddReadKey :exec
INSERT INTO read_keys (id, username, title, sum, created_ms, scope) VALUES ($1, $2, $3, $4, $5, $6);

-- name: NoteUse :exec
UPDATE read_keys SET used_ms = sqlc.arg(used_ms) WHERE id = sqlc.arg(id) AND used_ms < sqlc.arg(used_ms);

-- name: RemoveReadKey :execrows
DELETE FROM read_keys WHERE id = $1;

-- name: Revocations :many
SELECT id, until_ms FROM revocations;

-- name: AddRevocation :exec
INSERT INTO revocations (id, until_ms) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms
WHERE revocations.until_ms < excluded.until_ms;

-- name: AttemptsOf :one
SELECT failures, last_failure_ms, last_success_ms FROM attempts WHERE key = $1;

-- name: AddFailure :exec
INSERT INTO attempts (key, failures, last_failure_ms, last_success_ms) VALUES (sqlc.arg(key), 1, sqlc.arg(at_ms), 0)
ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN attempts.last_failure_ms < sqlc.arg(forget_ms) THEN 1 ELSE attempts.failures + 1 END,
    last_failure_ms = CASE WHEN attempts.last_failure_ms > excluded.last_failure_ms THEN attempts.last_failure_ms ELSE excluded.last_failure_ms END;

-- name: AddSuccess :exec
INSERT INTO attempts (key, failures, last_failure_ms, last_success_ms) VALUES (sqlc.arg(key), 0, 0, sqlc.arg(at_ms))
ON CONFLICT (key) DO UPDATE SET failures = 0,
    last_success_ms = CASE WHEN attempts.last_success_ms > excluded.last_success_ms THEN attempts.last_success_ms ELSE excluded.last_success_ms END;

-- name: BeginSession :execrows
-- A login, or the first renewal of one that has no row: its own refresh token is the parent then.
INSERT INTO sessions (id, username, expires_ms, parent, refresh, child, revoked_ms, created_ms, used_ms, addr, client, provider)
VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO NOTHING;

-- name: AdvanceSession :execrows
-- Of two who come with the same token at once, one finds it used.
UPDATE sessions SET parent = sqlc.arg(parent), refresh = sqlc.arg(refresh), child = sqlc.arg(child),
    used_ms = sqlc.arg(used_ms), addr = sqlc.arg(addr), client = sqlc.arg(client)
WHERE id = sqlc.arg(id) AND revoked_ms = 0 AND refresh = sqlc.arg(parent);

-- name: Session :one
SELECT id, username, expires_ms, parent, child, revoked_ms, created_ms, used_ms, addr, client, provider FROM sessions WHERE id = $1;

-- name: SessionsOf :many
SELECT id, username, expires_ms, parent, child, revoked_ms, created_ms, used_ms, addr, client, provider FROM sessions
WHERE username = $1 AND revoked_ms = 0;

-- name: SessionsOfProvider :many
SELECT id, username, expires_ms, parent, child, revoked_ms, created_ms, used_ms, addr, client, provider FROM sessions
WHERE provider = $1 AND provider <> '' AND revoked_ms = 0;

-- name: AddOnce :execrows
INSERT INTO revocations (id, until_ms) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING;

-- name: EndAllSessions :exec
DELETE FROM sessions;

-- name: RemoveSigningKeys :exec
DELETE FROM signing_keys;

-- name: RevokeSession :execrows
INSERT INTO sessions (id, username, expires_ms, parent, refresh, child, revoked_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET revoked_ms = excluded.revoked_ms WHERE sessions.revoked_ms = 0;

-- name: AddAudit :exec
INSERT INTO audit (id, at_ms, actor, addr, client, action, subject, detail, ok, request) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: Trail :many
SELECT id, at_ms, actor, addr, client, action, subject, detail, ok, request FROM audit
WHERE id > sqlc.arg(after) AND id < sqlc.arg(before) AND at_ms >= sqlc.arg(since_ms) AND at_ms < sqlc.arg(until_ms)
  AND (actor = sqlc.arg(username) OR subject = sqlc.arg(username) OR sqlc.arg(username) = '')
  AND (action = sqlc.arg(action) OR sqlc.arg(action) = '')
  AND (request = sqlc.arg(request) OR substr(request, 1, 33) = sqlc.arg(request) || '-' OR sqlc.arg(request) = '')
ORDER BY id DESC LIMIT sqlc.arg(max_rows);

-- name: PurgeSessions :exec
DELETE FROM sessions WHERE expires_ms <= $1;

-- name: PurgeRevocations :exec
DELETE FROM revocations WHERE until_ms <= $1;

-- name: PurgeSigningKeys :exec
DELETE FROM signing_keys WHERE not_after_ms <= $1;

-- name: PurgeAttempts :exec
DELETE FROM attempts WHERE last_failure_ms < sqlc.arg(failures_before) AND last_success_ms < sqlc.arg(successes_before);

-- name: PurgeAudit :execrows
DELETE FROM audit WHERE audit.id IN (SELECT old.id FROM audit AS old WHERE old.at_ms < sqlc.arg(before_ms) ORDER BY old.at_ms LIMIT sqlc.arg(max_rows));
