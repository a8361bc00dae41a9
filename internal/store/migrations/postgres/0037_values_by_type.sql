CREATE INDEX hazard_values_by_type ON hazard_values (quantity, type_id, value);
