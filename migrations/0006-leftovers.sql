-- What becomes of the slots of pipes that nobody works on: a slot that is not read keeps the log of its server for ever.

-- What deleted pipes may have left at their sources. Without references: whatever else goes, this is still to be done.
CREATE TABLE source_leftovers (
  pipe_id text PRIMARY KEY,
  organization_id text NOT NULL,
  -- Where it is and what of it is ours, as JSON.
  source text NOT NULL,
  -- As they were sealed with the pipe; gone with the row.
  secrets text,
  since text NOT NULL,
  -- Of several who would try, the one does who moves it on.
  next_try_at text NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  -- Why the last try was in vain.
  last_reason text
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX source_leftovers_due ON source_leftovers (next_try_at);

-- Postgres pipes that have run, and that have no worker now who would see how much log the source keeps for them.
CREATE INDEX pipes_with_idle_slot ON pipes (id)
  WHERE kind = 'postgres' AND epoch > 0 AND state IN ('Paused', 'Failed', 'InternalError');
