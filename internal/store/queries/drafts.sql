-- name: AddDraft :execrows
-- No row: it is there already, of the same request, and waits or was decided. One whose time is over begins anew.
INSERT INTO drafts (id, deed, subject, body, touched, hazard, org_id, shown, author, created_ms, expires_ms, state, decided_by, decided_ms, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'waiting', '', 0, '')
ON CONFLICT (id) DO UPDATE SET shown = excluded.shown, created_ms = excluded.created_ms, expires_ms = excluded.expires_ms
WHERE drafts.state = 'waiting' AND drafts.expires_ms <= excluded.created_ms;

-- name: Draft :one
SELECT * FROM drafts WHERE id = $1;

-- name: Drafts :many
-- The latest first.
SELECT * FROM drafts ORDER BY created_ms DESC, id LIMIT sqlc.arg(max_rows);

-- name: WaitingDrafts :many
-- The oldest first: it lapses first.
SELECT * FROM drafts WHERE state = 'waiting' AND expires_ms > sqlc.arg(now_ms) ORDER BY created_ms, id LIMIT sqlc.arg(max_rows);

-- name: CountWaitingDrafts :one
SELECT count(*) FROM drafts WHERE state = 'waiting' AND expires_ms > sqlc.arg(now_ms);

-- name: CountDraftsOf :one
SELECT count(*) FROM drafts WHERE state = 'waiting' AND author = $1 AND expires_ms > sqlc.arg(now_ms);

-- name: DecideDraft :execrows
-- No row: it was decided before, or its time is over.
UPDATE drafts SET state = sqlc.arg(state), decided_by = sqlc.arg(decided_by), decided_ms = sqlc.arg(decided_ms), reason = sqlc.arg(reason)
WHERE id = sqlc.arg(id) AND state = 'waiting' AND expires_ms > sqlc.arg(decided_ms);

-- name: ForgetDraftsOf :exec
DELETE FROM drafts WHERE hazard = $1;

-- name: PurgeDrafts :exec
DELETE FROM drafts WHERE created_ms < sqlc.arg(before_ms);
