-- The present state of a hazard is read from the change that made it (hazards.n): it need not stand in hazards, too. In a
-- store that the release before may still use, it does ('hazards'). In one that was made with this schema hazards.body is
-- empty ('changes'), which takes a third less room; releases before refuse it by its oldest_schema.
INSERT INTO meta (name, value) VALUES ('bodies', 'hazards');
