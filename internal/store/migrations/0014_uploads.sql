-- How many bytes of files each organization has uploaded in a day, on all nodes. Only the present day is looked at.
CREATE TABLE uploads (
    org_id BIGINT NOT NULL, -- -1: users without an organization, together
    day    BIGINT NOT NULL, -- since 1970, in UTC
    bytes  BIGINT NOT NULL,
    PRIMARY KEY (org_id, day)
);
