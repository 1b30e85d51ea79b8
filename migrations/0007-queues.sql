-- What is kept of objects that a queue tells of. Each is a partition of its own, which one worker claims before it sends anything.

-- The worker that has claimed the partition; NULL for one that nobody claims.
ALTER TABLE pipe_positions ADD COLUMN slot integer;

-- Claimed partitions that are durable as a whole, remembered for as long as a queue may tell of them again. There may be millions
-- of a pipe: without a reference to it, so that it can be deleted at once.
CREATE TABLE finished_partitions (
  pipe_id text NOT NULL,
  -- Of the name, which may be long.
  digest text NOT NULL,
  finished_at text NOT NULL,
  PRIMARY KEY (pipe_id, digest)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX finished_partitions_by_age ON finished_partitions (finished_at);
