-- What happened to a draft besides the decision: who has seen it, and when it was called to mind.
CREATE TABLE draft_marks (
    draft TEXT NOT NULL,
    kind  TEXT NOT NULL,   -- 'seen', 'reminded' or 'lapsing'
    who   TEXT NOT NULL,   -- the user; empty for 'lapsing'
    at_ms BIGINT NOT NULL, -- the first time of 'seen', the last of the others
    PRIMARY KEY (draft, kind, who)
);
