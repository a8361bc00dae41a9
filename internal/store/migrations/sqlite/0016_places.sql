-- Where alone, for who asks for no time: in hazard_boxes, what is near in place lies apart by time and kind. Numbers are those of hazard_boxes, and
-- so is rid. Triggers keep it, so that a release which does not know it does too.
CREATE VIRTUAL TABLE hazard_places USING rtree(rid, west, east, south, north);

CREATE TRIGGER searchable_placed AFTER INSERT ON searchable BEGIN
    INSERT INTO hazard_places SELECT 2 * NEW.id, NEW.west, iif(NEW.west <= NEW.east, NEW.east, 180), NEW.south, NEW.north;
    INSERT INTO hazard_places SELECT 2 * NEW.id + 1, -180, NEW.east, NEW.south, NEW.north WHERE NEW.west > NEW.east;
END;

CREATE TRIGGER searchable_moved AFTER UPDATE OF west, south, east, north ON searchable
WHEN (NEW.west, NEW.south, NEW.east, NEW.north) IS NOT (OLD.west, OLD.south, OLD.east, OLD.north) BEGIN
    DELETE FROM hazard_places WHERE rid IN (2 * OLD.id, 2 * OLD.id + 1);
    INSERT INTO hazard_places SELECT 2 * NEW.id, NEW.west, iif(NEW.west <= NEW.east, NEW.east, 180), NEW.south, NEW.north;
    INSERT INTO hazard_places SELECT 2 * NEW.id + 1, -180, NEW.east, NEW.south, NEW.north WHERE NEW.west > NEW.east;
END;

CREATE TRIGGER searchable_gone AFTER DELETE ON searchable BEGIN
    DELETE FROM hazard_places WHERE rid IN (2 * OLD.id, 2 * OLD.id + 1);
END;

INSERT INTO hazard_places SELECT 2 * id, west, iif(west <= east, east, 180), south, north FROM searchable;
INSERT INTO hazard_places SELECT 2 * id + 1, -180, east, south, north FROM searchable WHERE west > east;
