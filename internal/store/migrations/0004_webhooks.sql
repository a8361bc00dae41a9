-- The tables of webhooks and their deliveries.

CREATE TABLE webhooks (
    id     TEXT PRIMARY KEY,
    owner  TEXT NOT NULL,
    told_n BIGINT NOT NULL, -- every change up to this number has become the deliveries that it is to become
    body   TEXT NOT NULL    -- all else. It holds the secrets: the file's mode keeps others away
);

-- What is to be told to a webhook, and what came of it.
CREATE TABLE deliveries (
    id         BIGINT PRIMARY KEY,
    webhook    TEXT NOT NULL,
    hazard_id  BIGINT NOT NULL,
    product_id BIGINT NOT NULL, -- 0: the hazard itself
    n          BIGINT NOT NULL, -- the change
    gone       BOOLEAN NOT NULL, -- with this change the hazard leaves the filter
    state      TEXT NOT NULL, -- 'pending', 'delivered', 'failed', 'dropped'
    created_ms BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    first_ms   BIGINT NOT NULL, -- of the first attempt; 0: none yet
    next_ms    BIGINT NOT NULL, -- not before
    last_ms    BIGINT NOT NULL, -- of the last attempt
    took_ms    BIGINT NOT NULL, -- that the last attempt took
    status     BIGINT NOT NULL, -- HTTP status of the last answer; 0: none
    error      TEXT NOT NULL,   -- class of what went wrong last
    message    TEXT NOT NULL    -- id of the message that was sent last
);
-- Serves the worker: the first of each hazard that waits, and when the next is due.
CREATE INDEX deliveries_waiting ON deliveries (webhook, hazard_id, id) WHERE state = 'pending';
CREATE INDEX deliveries_due ON deliveries (webhook, next_ms) WHERE state = 'pending';
CREATE INDEX deliveries_of_webhook ON deliveries (webhook, id);
CREATE INDEX deliveries_by_time ON deliveries (created_ms);

-- webhook rises with every change of a webhook, so that whoever delivers looks again.
INSERT INTO counters (name, value) VALUES ('webhook', 0), ('delivery', 0);
