-- Whoever is told of a hazard is asked about the hazards that were merged into it, at each change of it.
CREATE INDEX merges_by_into ON merges (into_id);
