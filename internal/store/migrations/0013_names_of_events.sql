-- Which events are one is found again whenever one of them changes, from all their names.
CREATE INDEX refs_of_event ON event_refs (source, event);
