-- Events are compared with those near them. By latitude alone an index finds a belt around the earth: rows of a tenth of a
-- degree, and within them the longitude, find a few square kilometers.
DROP INDEX events_by_place;
CREATE INDEX events_by_place ON events (type_id, ROUND(lat * 10), lon);
