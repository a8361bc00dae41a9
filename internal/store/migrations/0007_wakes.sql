-- When a hazard's state must be derived again although nobody reports: one of its parts or sources
-- runs out before the hazard ends. A hazard whose only such moment is its end has no row.
CREATE TABLE wakes (
    hazard_id BIGINT PRIMARY KEY,
    at_ms     BIGINT NOT NULL
);
CREATE INDEX wakes_by_time ON wakes (at_ms);

-- States that were derived before this table was there: derived again once, at the first start.
INSERT INTO wakes (hazard_id, at_ms) SELECT id, last_update_ms FROM hazards WHERE status = 'A' AND source <> '';
