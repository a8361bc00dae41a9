-- name: Publishing :many
SELECT org_id, after_n, body FROM publishing ORDER BY org_id, after_n;

-- name: CountPublishing :one
SELECT count(*) FROM publishing WHERE org_id = $1;

-- name: SetPublishing :exec
INSERT INTO publishing (org_id, after_n, body) VALUES ($1, $2, $3) ON CONFLICT (org_id, after_n) DO UPDATE SET body = excluded.body;
