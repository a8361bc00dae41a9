-- name: AddPruned :exec
INSERT INTO pruned (what, n, at_ms, done_ms, removed, archive) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (what, n, archive) DO NOTHING;

-- name: LastPruned :one
-- How far rows may be missing, and the file that holds the last of them.
SELECT n, at_ms, archive FROM pruned WHERE what = $1 ORDER BY at_ms DESC, n DESC, done_ms DESC, archive DESC LIMIT 1;

-- name: LastChangeBefore :one
-- The latest change that was made before a moment.
SELECT n FROM changes WHERE at_ms < $1 ORDER BY at_ms DESC, n DESC LIMIT 1;

-- name: EndedHazards :many
-- Hazards that are not active and that no change above a number has touched, in the order of their numbers.
SELECT id FROM hazards WHERE id > sqlc.arg(after) AND status <> 'A' AND n <= sqlc.arg(up_to) ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: BodiesBetween :many
SELECT n, body FROM changes WHERE n > sqlc.arg(after) AND n <= sqlc.arg(up_to) ORDER BY n LIMIT sqlc.arg(max_rows);
