-- Which table of the source a table was loaded from, as the source itself knows it: another one may have got its name. NULL where an
-- older version has loaded it.
ALTER TABLE pipe_tables ADD COLUMN source_id text;
