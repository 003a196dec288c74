-- A publication of all tables, as change capture makes one, forbids deleting from a table whose rows nothing
-- identifies: no hold could be removed, and so no lease swept. Costs nothing where nothing is published.
ALTER TABLE oncekey.holds REPLICA IDENTITY FULL;
