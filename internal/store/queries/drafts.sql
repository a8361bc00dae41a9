-- name: AddDraft :execrows
-- No row: it is there already, of the same request, and waits or was decided. One whose time is over begins anew.
INSERT INTO drafts (id, deed, subject, body, touched, hazard, org_id, shown, author, created_ms, expires_ms, state, decided_by, decided_ms, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'waiting', '', 0, '')
ON CONFLICT (id) DO UPDATE SET shown = excluded.shown, created_ms = excluded.created_ms, expires_ms = excluded.expires_ms
WHERE drafts.state = 'waiting' AND drafts.expires_ms <= excluded.created_ms;

-- name: Draft :one
SELECT * FROM drafts WHERE id = $1;

-- name: DraftsBefore :many
-- The latest first. Those before a time and, at that time, before an id.
SELECT * FROM drafts WHERE created_ms < sqlc.arg(before_ms) OR created_ms = sqlc.arg(before_ms) AND id < sqlc.arg(before_id)
ORDER BY created_ms DESC, id DESC LIMIT sqlc.arg(max_rows);

-- name: WaitingDraftsBefore :many
-- As DraftsBefore, of those that can be decided.
SELECT * FROM drafts WHERE state = 'waiting' AND expires_ms > sqlc.arg(now_ms) AND (created_ms < sqlc.arg(before_ms) OR created_ms = sqlc.arg(before_ms) AND id < sqlc.arg(before_id))
ORDER BY created_ms DESC, id DESC LIMIT sqlc.arg(max_rows);

-- name: CountWaitingDraftsBy :many
SELECT org_id, author, count(*) AS n, CAST(min(created_ms) AS bigint) AS oldest_ms FROM drafts WHERE state = 'waiting' AND expires_ms > sqlc.arg(now_ms) GROUP BY org_id, author;

-- name: MarkDraft :execrows
-- No row: it was marked before.
INSERT INTO draft_marks (draft, kind, who, at_ms) VALUES ($1, $2, $3, $4) ON CONFLICT (draft, kind, who) DO NOTHING;

-- name: MarkDraftAgain :execrows
-- No row: it was marked after that time.
INSERT INTO draft_marks (draft, kind, who, at_ms) VALUES ($1, $2, $3, $4)
ON CONFLICT (draft, kind, who) DO UPDATE SET at_ms = excluded.at_ms WHERE draft_marks.at_ms <= sqlc.arg(not_after_ms);

-- name: DraftMarks :many
SELECT kind, who, at_ms FROM draft_marks WHERE draft = $1 ORDER BY at_ms, who;

-- name: ForgetDraftMarks :exec
DELETE FROM draft_marks WHERE draft = $1;

-- name: PurgeDraftMarks :exec
DELETE FROM draft_marks WHERE draft NOT IN (SELECT id FROM drafts);

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
