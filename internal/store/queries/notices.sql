-- name: SubscriptionsAfter :many
-- Those that have changed since a version, in the order of changes.
SELECT * FROM subscriptions WHERE version > sqlc.arg(after) ORDER BY version LIMIT sqlc.arg(max_rows);

-- name: SubscriptionsOf :many
SELECT * FROM subscriptions WHERE owner = sqlc.arg(owner) AND id > sqlc.arg(after) AND NOT removed ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: AllSubscriptions :many
SELECT * FROM subscriptions WHERE id > sqlc.arg(after) AND NOT removed ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: Subscription :one
SELECT * FROM subscriptions WHERE id = $1 AND NOT removed;

-- name: CountSubscriptionsOf :one
SELECT count(*) FROM subscriptions WHERE owner = $1 AND NOT removed;

-- name: AnySubscription :one
SELECT EXISTS (SELECT 1 FROM subscriptions WHERE NOT removed);

-- name: CountSubscriptions :one
SELECT count(*) FROM subscriptions WHERE NOT removed;

-- name: AddSubscription :exec
INSERT INTO subscriptions (id, owner, since_n, version, removed, body, sealed) VALUES ($1, $2, $3, $4, false, $5, $6);

-- name: SaveSubscription :exec
UPDATE subscriptions SET owner = sqlc.arg(owner), version = sqlc.arg(version), body = sqlc.arg(body), sealed = sqlc.arg(sealed) WHERE id = sqlc.arg(id);

-- name: RemoveSubscription :execrows
UPDATE subscriptions SET version = sqlc.arg(version), removed = true, owner = '', body = '', sealed = '' WHERE id = sqlc.arg(id) AND NOT removed;

-- name: PurgeSubscriptions :exec
-- The rows of removed subscriptions, but for the latest changes, which nodes may not have seen yet.
DELETE FROM subscriptions WHERE removed AND version <= sqlc.arg(up_to);

-- name: DropNoticesOf :exec
DELETE FROM notices WHERE subscription = $1;

-- name: DropToldOf :exec
DELETE FROM told WHERE subscription = $1;

-- name: AddNotice :exec
-- A change joins what waits to be told of the same hazard, which may be more urgent now: when it is told is decided anew.
INSERT INTO notices (id, subscription, channel, lane, hazard_id, first_n, n, since_ms, state, waits, created_ms, attempts, first_ms, next_ms, last_ms, took_ms, kind, error, message, said, text)
VALUES (sqlc.arg(id), sqlc.arg(subscription), sqlc.arg(channel), sqlc.arg(lane), sqlc.arg(hazard_id), sqlc.arg(n), sqlc.arg(n), sqlc.arg(since_ms), 'pending', true, sqlc.arg(now_ms), 0, 0,
    sqlc.arg(now_ms), 0, 0, '', '', '', '', '')
ON CONFLICT (subscription, channel, hazard_id) WHERE state = 'pending' DO UPDATE SET n = excluded.n, lane = excluded.lane,
    next_ms = CASE WHEN notices.attempts = 0 THEN excluded.next_ms ELSE notices.next_ms END;

-- name: NoticesDue :many
-- What is due in a lane, the longest due first.
SELECT subscription, channel FROM notices WHERE waits AND lane = sqlc.arg(lane) AND next_ms <= sqlc.arg(now_ms) ORDER BY next_ms, id LIMIT sqlc.arg(max_rows);

-- name: NoticesWaiting :many
-- What waits for one channel of a subscription, in order.
SELECT * FROM notices WHERE waits AND subscription = sqlc.arg(subscription) AND channel = sqlc.arg(channel) ORDER BY id LIMIT sqlc.arg(max_rows);

-- name: NoticesOfHazard :many
-- For whom something of a hazard waits, or is being sent.
SELECT DISTINCT subscription, channel, lane FROM notices WHERE waits AND hazard_id = sqlc.arg(hazard_id);

-- name: NextNotice :one
SELECT next_ms FROM notices WHERE waits AND lane = sqlc.arg(lane) AND next_ms > sqlc.arg(now_ms) ORDER BY next_ms LIMIT 1;

-- name: NoticeLanes :many
SELECT DISTINCT lane FROM notices WHERE waits;

-- name: ClaimNotice :execrows
-- No row: a change has joined it since it was read, or it no longer waits. A message that was redacted while it was being sent stays so.
UPDATE notices SET state = sqlc.arg(state), waits = sqlc.arg(waits), n = sqlc.arg(n), next_ms = sqlc.arg(next_ms), attempts = sqlc.arg(attempts), first_ms = sqlc.arg(first_ms), last_ms = sqlc.arg(last_ms),
    took_ms = sqlc.arg(took_ms), kind = sqlc.arg(kind), error = sqlc.arg(error), message = sqlc.arg(message), said = sqlc.arg(said),
    text = CASE WHEN text = '[redacted]' THEN text ELSE sqlc.arg(text) END
WHERE id = sqlc.arg(id) AND state = sqlc.arg(state_before) AND n = sqlc.arg(n_before);

-- name: PendingNotice :one
-- What waits beside one that is being sent, of the same hazard.
SELECT id FROM notices WHERE subscription = sqlc.arg(subscription) AND channel = sqlc.arg(channel) AND hazard_id = sqlc.arg(hazard_id) AND state = 'pending';

-- name: PostponeNotices :exec
UPDATE notices SET next_ms = sqlc.arg(next_ms) WHERE waits AND subscription = sqlc.arg(subscription) AND channel = sqlc.arg(channel) AND next_ms < sqlc.arg(next_ms);

-- name: DropWaiting :exec
-- Nothing that waits for a channel is sent any more. What may have arrived stays, until that is recorded.
UPDATE notices SET state = 'dropped', waits = false, error = sqlc.arg(error) WHERE state = 'pending' AND subscription = sqlc.arg(subscription) AND channel = sqlc.arg(channel);

-- name: NoticesBefore :many
-- The latest notices of a subscription that are older than one.
SELECT * FROM notices WHERE subscription = sqlc.arg(subscription) AND id < sqlc.arg(before) ORDER BY id DESC LIMIT sqlc.arg(max_rows);

-- name: SentSince :one
SELECT count(*) FROM notices WHERE subscription = sqlc.arg(subscription) AND channel = sqlc.arg(channel) AND state = 'sent' AND last_ms >= sqlc.arg(since_ms);

-- name: CountWaitingNotices :one
SELECT count(*) FROM notices WHERE waits;

-- name: WaitingByLane :many
-- What waits, and since when the oldest of it.
SELECT lane, count(*) AS waiting, CAST(min(since_ms) AS BIGINT) AS oldest_ms, CAST(max(attempts) AS BIGINT) AS attempts FROM notices WHERE waits GROUP BY lane ORDER BY lane;

-- name: OutcomesByLane :many
-- What became of what changes since a moment have become, and how long after the change: the sum and the longest.
SELECT lane, state, count(*) AS notices, CAST(sum(last_ms - since_ms) AS BIGINT) AS sum_ms, CAST(max(last_ms - since_ms) AS BIGINT) AS max_ms FROM notices
WHERE NOT waits AND created_ms >= sqlc.arg(since_ms) GROUP BY lane, state;

-- name: CountWaitingNoticesOf :one
SELECT count(*) FROM notices WHERE waits AND subscription = $1;

-- name: PurgeNotices :exec
DELETE FROM notices WHERE NOT waits AND created_ms < sqlc.arg(before_ms);

-- name: Told :one
SELECT * FROM told WHERE subscription = sqlc.arg(subscription) AND channel = sqlc.arg(channel) AND hazard_id = sqlc.arg(hazard_id);

-- name: ToldOf :many
-- Who was told of a hazard.
SELECT * FROM told WHERE hazard_id = sqlc.arg(hazard_id) ORDER BY subscription, channel;

-- name: SaveKnown :exec
INSERT INTO told (subscription, channel, hazard_id, n, first_ms, at_ms, gone, said)
VALUES (sqlc.arg(subscription), sqlc.arg(channel), sqlc.arg(hazard_id), sqlc.arg(n), sqlc.arg(at_ms), sqlc.arg(at_ms), sqlc.arg(gone), sqlc.arg(said))
ON CONFLICT (subscription, channel, hazard_id) DO UPDATE SET n = excluded.n, at_ms = excluded.at_ms, gone = excluded.gone, said = excluded.said;

-- name: PurgeTold :exec
-- What was told of a part is kept as long as what it is part of.
WITH RECURSIVE parts (id) AS (
    SELECT m.from_id AS id FROM merges m JOIN hazards h ON h.id = m.into_id WHERE h.status = 'A' OR h.update_ms >= sqlc.arg(before_ms)
    UNION SELECT m.from_id AS id FROM merges m JOIN parts p ON m.into_id = p.id)
DELETE FROM told WHERE at_ms < sqlc.arg(before_ms) AND hazard_id NOT IN (SELECT id FROM parts)
    AND (gone OR EXISTS (SELECT 1 FROM hazards h WHERE h.id = told.hazard_id AND h.status = 'E' AND h.update_ms < sqlc.arg(before_ms)));

-- name: RaiseCounter :exec
-- Never back: another process may have come further.
UPDATE counters SET value = sqlc.arg(value) WHERE name = sqlc.arg(name) AND value < sqlc.arg(value);

-- name: AddConfirmation :exec
INSERT INTO confirmations (id, address, at_ms) VALUES ($1, $2, $3);

-- name: CountConfirmations :one
-- How often an address, or any, was asked since a moment.
SELECT count(*) FROM confirmations WHERE at_ms >= sqlc.arg(since_ms) AND (CAST(sqlc.arg(address) AS TEXT) = '' OR address = CAST(sqlc.arg(address) AS TEXT));

-- name: PurgeConfirmations :exec
DELETE FROM confirmations WHERE at_ms < sqlc.arg(before_ms);
