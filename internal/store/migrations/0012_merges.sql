-- What each merge of two hazards moved, so that it can be taken back exactly. A merge that was taken back has no row.
CREATE TABLE merges (
    n       BIGINT PRIMARY KEY, -- the change that ended the hazard
    from_id BIGINT NOT NULL,    -- the hazard that ended
    into_id BIGINT NOT NULL,    -- its successor
    body    TEXT NOT NULL       -- JSON: the events and products that moved, and how they were before
);
