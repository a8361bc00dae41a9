-- name: Webhooks :many
SELECT id, owner, told_n, body FROM webhooks ORDER BY id;

-- name: Webhook :one
SELECT id, owner, told_n, body FROM webhooks WHERE id = $1;

-- name: AddWebhook :exec
INSERT INTO webhooks (id, owner, told_n, body) VALUES ($1, $2, $3, $4);

-- name: SaveWebhook :exec
UPDATE webhooks SET body = sqlc.arg(body) WHERE id = sqlc.arg(id);

-- name: SaveTold :exec
-- Never back: another process may have come further.
UPDATE webhooks SET told_n = sqlc.arg(told_n) WHERE id = sqlc.arg(id) AND told_n < sqlc.arg(told_n);

-- name: DropWebhook :execrows
DELETE FROM webhooks WHERE id = $1;

-- name: DropDeliveriesOf :exec
DELETE FROM deliveries WHERE webhook = $1;

-- name: AddDelivery :exec
INSERT INTO deliveries (id, webhook, hazard_id, product_id, n, gone, state, created_ms, attempts, first_ms, next_ms, last_ms, took_ms, status, error, message)
VALUES (sqlc.arg(id), sqlc.arg(webhook), sqlc.arg(hazard_id), sqlc.arg(product_id), sqlc.arg(n), sqlc.arg(gone), 'pending', sqlc.arg(now_ms), 0, 0, sqlc.arg(now_ms), 0, 0, 0, '', '');

-- name: DueDeliveries :many
-- The first delivery of each hazard that waits, as far as it is due: what follows it waits for it.
SELECT d.* FROM deliveries d WHERE d.webhook = sqlc.arg(webhook) AND d.state = 'pending' AND d.next_ms <= sqlc.arg(now_ms)
    AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.webhook = d.webhook AND e.hazard_id = d.hazard_id AND e.state = 'pending' AND e.id < d.id)
ORDER BY d.id LIMIT sqlc.arg(max_rows);

-- name: NextDelivery :one
-- When something is due that is not due yet; nothing if there is none.
SELECT next_ms FROM deliveries WHERE webhook = sqlc.arg(webhook) AND state = 'pending' AND next_ms > sqlc.arg(now_ms) ORDER BY next_ms LIMIT 1;

-- name: WaitingTogether :many
-- What waits to be told of one thing, from a delivery on.
SELECT * FROM deliveries WHERE webhook = sqlc.arg(webhook) AND hazard_id = sqlc.arg(hazard_id) AND product_id = sqlc.arg(product_id) AND state = 'pending'
    AND id >= sqlc.arg(id) AND n <= sqlc.arg(up_to) ORDER BY id;

-- name: SaveDelivery :exec
UPDATE deliveries SET state = sqlc.arg(state), attempts = sqlc.arg(attempts), first_ms = sqlc.arg(first_ms), next_ms = sqlc.arg(next_ms), last_ms = sqlc.arg(last_ms),
    took_ms = sqlc.arg(took_ms), status = sqlc.arg(status), error = sqlc.arg(error), message = sqlc.arg(message)
WHERE id = sqlc.arg(id);

-- name: Delivery :one
SELECT * FROM deliveries WHERE webhook = sqlc.arg(webhook) AND id = sqlc.arg(id);

-- name: DeliveriesBefore :many
-- The latest deliveries of a webhook that are older than one, in a state or in any.
SELECT * FROM deliveries WHERE webhook = sqlc.arg(webhook) AND id < sqlc.arg(before) AND (CAST(sqlc.arg(state) AS TEXT) = '' OR state = CAST(sqlc.arg(state) AS TEXT))
ORDER BY id DESC LIMIT sqlc.arg(max_rows);

-- name: DeliveredSince :one
-- Whether anything reached a webhook since a moment.
SELECT count(*) FROM deliveries WHERE webhook = sqlc.arg(webhook) AND state = 'delivered' AND last_ms >= sqlc.arg(since_ms);

-- name: CountPending :one
SELECT count(*) FROM deliveries WHERE webhook = $1 AND state = 'pending';

-- name: CountAllPending :one
-- What waits for webhooks alone: deliveries of WIS2 have no webhook.
SELECT count(*) FROM deliveries WHERE state = 'pending' AND webhook IN (SELECT id FROM webhooks);

-- name: RetryDeliveries :exec
-- All that waits begins anew.
UPDATE deliveries SET attempts = 0, first_ms = 0, next_ms = sqlc.arg(now_ms) WHERE webhook = sqlc.arg(webhook) AND state = 'pending';

-- name: PurgeDeliveries :exec
DELETE FROM deliveries WHERE state <> 'pending' AND created_ms < sqlc.arg(before_ms);
