-- name: EventKey :one
SELECT event, hazard_id FROM event_keys WHERE source = $1 AND key = $2;

-- name: AddEventKey :exec
INSERT INTO event_keys (source, key, event, hazard_id) VALUES ($1, $2, $3, $4) ON CONFLICT (source, key) DO NOTHING;

-- name: MoveEvent :exec
-- All names of an event, and so its hazard, become names of another.
UPDATE event_keys SET event = sqlc.arg(to_event), hazard_id = sqlc.arg(to_hazard) WHERE source = sqlc.arg(source) AND event = sqlc.arg(from_event);

-- name: ReleaseHeld :execrows
-- What was held for a reason that has gone.
UPDATE held SET decision = 'released', decided_ms = sqlc.arg(now_ms) WHERE source = sqlc.arg(source) AND event = sqlc.arg(event) AND part = sqlc.arg(part)
    AND decision = '' AND reason LIKE 'no place%';

-- name: ActiveEvents :many
-- The events of a source whose hazard still is active.
SELECT DISTINCT k.event, h.id, h.start_ms FROM event_keys k JOIN hazards h ON h.id = k.hazard_id
WHERE k.source = $1 AND h.status = 'A' ORDER BY k.event;

-- name: ReportsOfEvent :many
SELECT part, version, start_ms, places, body FROM reports WHERE source = $1 AND event = $2;

-- name: SaveReport :exec
INSERT INTO reports (source, event, part, version, received_ms, start_ms, places, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (source, event, part) DO UPDATE SET version = excluded.version, received_ms = excluded.received_ms,
    start_ms = excluded.start_ms, places = excluded.places, body = excluded.body;

-- name: StripReport :exec
UPDATE reports SET body = '' WHERE source = $1 AND event = $2 AND part = $3;

-- name: ForgetReport :exec
DELETE FROM reports WHERE source = $1 AND event = $2 AND part = $3;

-- name: Hold :execrows
INSERT INTO held (id, source, event, part, version, received_ms, reason, body, decision, decided_by, decided_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', '', 0)
ON CONFLICT (source, event, part, version) DO NOTHING;

-- name: HeldReport :one
SELECT id, source, event, part, version, received_ms, reason, body, decision FROM held WHERE id = $1;

-- name: HeldDecision :one
SELECT decision FROM held WHERE source = $1 AND event = $2 AND part = $3 AND version = $4;

-- name: OpenHeld :many
SELECT id, source, event, part, version, received_ms, reason, body, decision FROM held
WHERE source = $1 AND decision = '' ORDER BY id DESC LIMIT $2;

-- name: CountHeld :one
SELECT count(*) FROM held WHERE source = $1 AND decision = '';

-- name: DecideHeld :execrows
UPDATE held SET decision = $2, decided_by = $3, decided_ms = $4 WHERE id = $1 AND decision = '';

-- name: AddSourceError :exec
INSERT INTO source_errors (id, source, record, reason, first_ms, last_ms, times, raw)
VALUES (sqlc.arg(id), sqlc.arg(source), sqlc.arg(record), sqlc.arg(reason), sqlc.arg(at_ms), sqlc.arg(at_ms), 1, sqlc.arg(raw))
ON CONFLICT (source, record, reason) DO UPDATE SET last_ms = excluded.last_ms, times = source_errors.times + 1;

-- name: SourceErrors :many
SELECT id, record, reason, first_ms, last_ms, times, raw FROM source_errors WHERE source = $1 ORDER BY last_ms DESC, id DESC LIMIT $2;

-- name: TrimSourceErrors :exec
DELETE FROM source_errors WHERE source_errors.source = sqlc.arg(source) AND source_errors.id NOT IN
    (SELECT e.id FROM source_errors e WHERE e.source = sqlc.arg(source) ORDER BY e.last_ms DESC, e.id DESC LIMIT sqlc.arg(keep));

-- name: SourceState :one
SELECT body FROM source_states WHERE name = $1;

-- name: SourceStates :many
SELECT name, body FROM source_states ORDER BY name;

-- name: SaveSourceState :exec
INSERT INTO source_states (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body;

-- name: Place :one
SELECT geojson FROM places WHERE source = $1 AND code = $2;

-- name: SavePlace :exec
INSERT INTO places (source, code, name, geojson, fetched_ms) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (source, code) DO UPDATE SET name = excluded.name, geojson = excluded.geojson, fetched_ms = excluded.fetched_ms;

-- name: TakeLease :execrows
-- Takes or renews the lease, if it is free, over, or the holder's own.
INSERT INTO leases (name, holder, until_ms) VALUES (sqlc.arg(name), sqlc.arg(holder), sqlc.arg(until_ms))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
WHERE leases.holder = excluded.holder OR leases.until_ms <= sqlc.arg(now_ms);

-- name: DropLease :exec
DELETE FROM leases WHERE name = $1 AND holder = $2;
