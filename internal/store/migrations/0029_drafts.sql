-- Decisions of editors that wait for a second person, and what became of them.
CREATE TABLE drafts (
    id         TEXT PRIMARY KEY,
    deed       TEXT NOT NULL,   -- 'create', 'alter', 'merge', 'split', 'undo' or 'release'
    subject    TEXT NOT NULL,   -- uuid of the hazard that it is about, 'source/number' of a held report; empty for 'create'
    body       TEXT NOT NULL,   -- the request
    touched    TEXT NOT NULL,   -- the states that it alters: 'hazard:change', separated by spaces
    hazard     TEXT NOT NULL,   -- uuid of the hazard that people would be told of
    org_id     BIGINT NOT NULL, -- that this hazard belongs to
    shown      TEXT NOT NULL,   -- what this hazard would say, and whom it reaches
    author     TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL, -- it cannot be approved from then on
    state      TEXT NOT NULL,   -- 'waiting', 'approved', 'refused'
    decided_by TEXT NOT NULL,
    decided_ms BIGINT NOT NULL,
    reason     TEXT NOT NULL    -- why it was refused
);
CREATE INDEX drafts_by_time ON drafts (created_ms);
CREATE INDEX drafts_waiting ON drafts (author) WHERE state = 'waiting';
CREATE INDEX drafts_of_hazard ON drafts (hazard);
