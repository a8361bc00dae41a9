-- What was removed because it was older than is kept: see prune.go.

CREATE TABLE pruned (
    what    TEXT NOT NULL,   -- 'history': of changes; 'audit': of the audit trail
    n       BIGINT NOT NULL, -- rows up to this number may be missing
    at_ms   BIGINT NOT NULL, -- the log is whole from this moment on
    done_ms BIGINT NOT NULL,
    removed BIGINT NOT NULL, -- rows that were to be removed
    archive TEXT NOT NULL,   -- the file that holds them
    PRIMARY KEY (what, n, archive)
);

-- The merges that a hazard ended in: what it was before them is kept.
CREATE INDEX merges_of_hazard ON merges (from_id);
