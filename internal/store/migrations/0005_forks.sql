-- Where the history was replaced by another that had not got all of it: a standby took over that was behind, or a backup was restored.

CREATE TABLE forks (
    start_n BIGINT PRIMARY KEY, -- the numbers of the new history are above this one
    fork_n  BIGINT NOT NULL,    -- the last change that both have
    at_ms   BIGINT NOT NULL,
    reason  TEXT NOT NULL       -- 'failover', 'restore'
);

-- Programs that do not know forks would take numbers of the replaced history for changes to come.
INSERT INTO meta (name, value) VALUES ('oldest_schema', '5');
