-- Events are compared with those near them.
CREATE INDEX events_by_place ON events (type_id, lat, lon);
