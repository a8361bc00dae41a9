-- Hazards that a person has split, so that it can be taken back.
CREATE TABLE splits (
    n         BIGINT PRIMARY KEY, -- the last change of the hazard in that transaction
    hazard_id BIGINT NOT NULL,
    body      TEXT NOT NULL       -- JSON: the events and products that moved, and what was decided of them before
);
