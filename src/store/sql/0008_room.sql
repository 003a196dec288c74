-- Room in a page of records for the settled versions of what was reserved in it. Half a page was not
-- enough for the usual answer: one settlement in four had to go elsewhere and touch every index.
ALTER TABLE oncekey.records SET (fillfactor = 40);
