-- A person's merge names the pairs of events that are one, as a split names those that are not. Each pair stands in both orders.
ALTER TABLE parted ADD COLUMN one BOOLEAN NOT NULL DEFAULT FALSE;
