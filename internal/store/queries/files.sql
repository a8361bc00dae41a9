-- name: Content :one
SELECT life, named FROM contents WHERE digest = $1;

-- name: NameContent :exec
INSERT INTO contents (digest, life, named) VALUES ($1, 0, TRUE) ON CONFLICT (digest) DO UPDATE SET named = TRUE;

-- name: EndContent :execrows
-- Ends the life of a content that nothing names, if it is the present one or was not heard of.
INSERT INTO contents (digest, life, named) VALUES (sqlc.arg(digest), sqlc.arg(next_life), FALSE)
ON CONFLICT (digest) DO UPDATE SET life = excluded.life WHERE NOT contents.named AND contents.life < excluded.life;

-- name: ContentsNamed :one
SELECT n FROM contents_named;

-- name: SetContentsNamed :exec
UPDATE contents_named SET n = $1;

-- name: ProductStatesSince :many
SELECT n, body FROM changes WHERE n > sqlc.arg(after) AND n <= sqlc.arg(until) AND product_id > 0 ORDER BY n LIMIT sqlc.arg(max_rows);

-- name: ChangeFartherOn :one
-- The change that has so many others between it and the first one.
SELECT n FROM changes WHERE n > sqlc.arg(after) ORDER BY n LIMIT 1 OFFSET sqlc.arg(others);

-- name: AddUpload :one
INSERT INTO uploads (org_id, day, bytes) VALUES ($1, $2, $3)
ON CONFLICT (org_id, day) DO UPDATE SET bytes = uploads.bytes + excluded.bytes RETURNING bytes;

-- name: Uploaded :one
SELECT bytes FROM uploads WHERE org_id = $1 AND day = $2;

-- name: ForgetUploads :exec
DELETE FROM uploads WHERE day < $1;
