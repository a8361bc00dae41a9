-- name: Payload :one
SELECT sha256, file, life, bytes, kept, last_ms FROM payloads WHERE sha256 = $1;

-- name: AddPayload :exec
INSERT INTO payloads (sha256, file, life, bytes, kept, last_ms) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (sha256) DO NOTHING;

-- name: CamePayload :execrows
UPDATE payloads SET last_ms = sqlc.arg(last_ms) WHERE sha256 = sqlc.arg(sha256);

-- name: LastReceipt :one
SELECT CAST(coalesce(max(id), 0) AS BIGINT) FROM receipts;

-- name: AddReceipt :exec
INSERT INTO receipts (id, source, kind, feed, address, subject, payload, read_ms, taken_ms, kept_ms, again, cut, error)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: Receipts :many
SELECT id, source, kind, feed, address, subject, payload, read_ms, taken_ms, kept_ms, again, cut, error FROM receipts
WHERE id > sqlc.arg(after) ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: ReceiptsOf :many
-- The receipts of a source, the latest first.
SELECT id, source, kind, feed, address, subject, payload, read_ms, taken_ms, kept_ms, again, cut, error FROM receipts
WHERE id < sqlc.arg(before) AND source = sqlc.arg(source) ORDER BY id DESC LIMIT sqlc.arg(max_rows);

-- name: LastReceiptOf :one
-- The latest receipt of a payload.
SELECT id, source, kind, feed, address, subject, payload, read_ms, taken_ms, kept_ms, again, cut, error FROM receipts
WHERE payload = $1 ORDER BY id DESC LIMIT 1;

-- name: FirstReceiptOf :one
-- The first receipt of a payload from a source.
SELECT id, source, kind, feed, address, subject, payload, read_ms, taken_ms, kept_ms, again, cut, error FROM receipts
WHERE payload = $1 AND source = $2 ORDER BY id LIMIT 1;

-- name: EvidenceUsage :one
SELECT count(*) AS payloads, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes, CAST(coalesce(sum(kept), 0) AS BIGINT) AS kept FROM payloads;

-- name: OldestReceipt :one
SELECT kept_ms FROM receipts ORDER BY kept_ms LIMIT 1;

-- name: PayloadsBefore :many
SELECT sha256, file, life, bytes, kept, last_ms FROM payloads WHERE last_ms < sqlc.arg(before_ms) ORDER BY last_ms, sha256 LIMIT sqlc.arg(max_rows);

-- name: DropPayload :exec
DELETE FROM payloads WHERE sha256 = $1;

-- name: DropReceipts :execrows
DELETE FROM receipts WHERE receipts.id IN
    (SELECT r.id FROM receipts r WHERE r.kept_ms < sqlc.arg(before_ms) ORDER BY r.kept_ms LIMIT sqlc.arg(max_rows));

-- name: PayloadOfFile :one
SELECT count(*) FROM payloads WHERE file = $1 AND life = $2;

-- name: PlacesAfter :many
-- In the order of their keys, those that were fetched before a moment.
SELECT source, code, name, geojson, fetched_ms FROM places
WHERE (source > sqlc.arg(source) OR source = sqlc.arg(source) AND code > sqlc.arg(code)) AND fetched_ms < sqlc.arg(before_ms)
ORDER BY source, code LIMIT sqlc.arg(max_rows);
