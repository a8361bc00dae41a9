-- With the place, so that rows of other places are not looked up.
DROP INDEX searchable_by_type;
CREATE INDEX searchable_by_type ON searchable (type_id, severity DESC, last_update_ms DESC, id, name, cell, x, y);
