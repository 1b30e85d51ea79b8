-- What the table of the source was like when its copy was last known to match: the digest of its files, the number of its last column, and
-- the sorting key of the copy. NULL where an older version has loaded it.
ALTER TABLE pipe_tables ADD COLUMN shape text;
