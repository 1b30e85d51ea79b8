-- Which changes of its table the log of the source has, by the catalog of the source as it was when the table was loaded: publication
-- and partitions. NULL where an older version has loaded it.
ALTER TABLE pipe_tables ADD COLUMN coverage text;
