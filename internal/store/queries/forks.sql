-- name: ForkOf :one
-- The fork in which a number is lost: it was of a history that another has replaced.
SELECT start_n, fork_n, at_ms, reason FROM forks WHERE fork_n < sqlc.arg(n) AND start_n > sqlc.arg(n) ORDER BY start_n DESC LIMIT 1;

-- name: AddFork :exec
INSERT INTO forks (start_n, fork_n, at_ms, reason) VALUES ($1, $2, $3, $4);

-- name: Counters :many
SELECT name, value FROM counters ORDER BY name;

-- name: SetMeta :exec
INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;
