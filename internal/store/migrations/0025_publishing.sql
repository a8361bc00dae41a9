-- How organizations publish their hazards as alerting authorities. Rows are only added: a message reads by the profile that held when its
-- change was made.
CREATE TABLE publishing (
    org_id  BIGINT NOT NULL,
    after_n BIGINT NOT NULL, -- holds for what was changed after it
    body    TEXT NOT NULL,
    PRIMARY KEY (org_id, after_n)
);

-- The hazards that people made: theirs are the messages.
CREATE INDEX changes_that_people_made ON changes (hazard_id) WHERE product_id = 0 AND kind = 'hazard.created' AND actor <> '';
