ALTER TABLE searchable ADD COLUMN name TEXT;
-- With the name, so that it is compared without the row.
DROP INDEX searchable_by_type;
CREATE INDEX searchable_by_type ON searchable (type_id, severity DESC, last_update_ms DESC, id, name);
