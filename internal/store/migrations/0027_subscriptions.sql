-- The tables of subscriptions: who wants to be told what, what waits to be told, and what was told.

CREATE TABLE subscriptions (
    id      TEXT PRIMARY KEY,
    owner   TEXT NOT NULL,    -- username; empty: somebody without an account
    since_n BIGINT NOT NULL,  -- only changes above it are told
    version BIGINT NOT NULL,  -- counter subscription as of the last change: a node reads what is above the version that it has
    removed BOOLEAN NOT NULL, -- the row is empty, and goes once every node has seen it
    body    TEXT NOT NULL,    -- all else but the addresses
    sealed  TEXT NOT NULL     -- the addresses, encrypted by a key that the database does not hold
);
CREATE INDEX subscriptions_by_version ON subscriptions (version);
CREATE INDEX subscriptions_by_owner ON subscriptions (owner, id);

-- What is to be told over one channel of a subscription, and what came of it.
CREATE TABLE notices (
    id           BIGINT PRIMARY KEY,
    subscription TEXT NOT NULL,
    channel      TEXT NOT NULL,   -- id of a channel of the subscription
    lane         TEXT NOT NULL,   -- what is sent to one server
    hazard_id    BIGINT NOT NULL, -- 0: no hazard (a confirmation)
    first_n      BIGINT NOT NULL, -- the first change that it tells of
    n            BIGINT NOT NULL, -- the last one, or the one that is being told
    since_ms     BIGINT NOT NULL, -- moment of the first change
    state        TEXT NOT NULL,   -- 'pending', 'sending', 'sent', 'failed', 'dropped'
    waits        BOOLEAN NOT NULL, -- pending or sending
    created_ms   BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    first_ms     BIGINT NOT NULL, -- of the first attempt; 0: none yet
    next_ms      BIGINT NOT NULL, -- not before
    last_ms      BIGINT NOT NULL, -- of the last attempt
    took_ms      BIGINT NOT NULL, -- that the last attempt took
    kind         TEXT NOT NULL,   -- of the message
    error        TEXT NOT NULL,   -- what went wrong last, or why it was dropped
    message      TEXT NOT NULL,   -- id of the message
    said         TEXT NOT NULL,   -- what the message tells, for the conversation
    text         TEXT NOT NULL    -- the message as it was sent, in plain text
);
-- What waits to be told of one hazard is told at once: further changes join it, until it is being sent.
CREATE UNIQUE INDEX notices_pending ON notices (subscription, channel, hazard_id) WHERE state = 'pending';
CREATE INDEX notices_waiting ON notices (subscription, channel, id) WHERE waits;
CREATE INDEX notices_due ON notices (lane, next_ms) WHERE waits;
CREATE INDEX notices_of_subscription ON notices (subscription, id);
CREATE INDEX notices_by_hazard ON notices (hazard_id) WHERE waits;
CREATE INDEX notices_by_time ON notices (created_ms);

-- The conversation: what somebody knows of a hazard.
CREATE TABLE told (
    subscription TEXT NOT NULL,
    channel      TEXT NOT NULL,
    hazard_id    BIGINT NOT NULL,
    n            BIGINT NOT NULL, -- the change that was told last
    first_ms     BIGINT NOT NULL, -- when it was told first
    at_ms        BIGINT NOT NULL, -- when it was told last
    gone         BOOLEAN NOT NULL, -- its end was told
    said         TEXT NOT NULL,
    PRIMARY KEY (subscription, channel, hazard_id)
);
CREATE INDEX told_by_hazard ON told (hazard_id);

-- When somebody was asked to confirm an address. The address is a keyed hash.
CREATE TABLE confirmations (
    id      BIGINT PRIMARY KEY,
    address TEXT NOT NULL,
    at_ms   BIGINT NOT NULL
);
CREATE INDEX confirmations_by_time ON confirmations (at_ms);

-- noticed is the change up to which everything has become notices.
INSERT INTO counters (name, value) SELECT 'noticed', value FROM counters WHERE name = 'change' ON CONFLICT (name) DO NOTHING;
INSERT INTO counters (name, value) VALUES ('subscription', 0), ('notice', 0), ('confirmation', 0) ON CONFLICT (name) DO NOTHING;
