-- What is kept of pipes that fill many tables from one source: how far the load of each has come, and what follows it.

-- Of a worker, what it does before it merely follows its source, or beside that; NULL for none.
ALTER TABLE pipe_workers ADD COLUMN phase text CHECK (phase IN ('setup', 'snapshot', 'resync'));

-- Log that the source keeps because the pipe has not taken it yet, as its worker last saw it.
ALTER TABLE pipe_figures ADD COLUMN retained_bytes bigint;

-- When everything was last asked to be loaded again; a table that was made for another request is loaded anew.
ALTER TABLE pipes ADD COLUMN reload_requested_at text;

CREATE TABLE pipe_tables (
  pipe_id text NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  -- Where the rows go: the table of a mapping, or one that is to take its place.
  target_table text NOT NULL,
  source_schema text NOT NULL,
  source_table text NOT NULL,
  -- The table whose place it is to take; NULL for the table of a mapping.
  replaces text,
  -- Of the mapping that it was made by.
  mapping_digest text NOT NULL,
  -- In the tokens of its inserts.
  load_id text NOT NULL,
  -- The request to load everything again that it was made for.
  reload_requested_at text,
  -- Changes that were committed before it are in the load; NULL until that is known.
  begin_lsn text,
  phase text NOT NULL CHECK (phase IN ('snapshot', 'following', 'swapping')),
  -- Of the source, as JSON.
  columns text NOT NULL,
  -- Rows with a smaller version were truncated while it was loaded. As text: it goes beyond what a signed number holds.
  truncated_version text,
  rows_estimated bigint,
  rows_loaded bigint NOT NULL DEFAULT 0,
  -- NULL until the load is planned.
  range_count integer,
  ranges_done integer NOT NULL DEFAULT 0,
  load_started_at text,
  load_ended_at text,
  PRIMARY KEY (pipe_id, target_table)
) /* sqlite: WITHOUT ROWID */;

-- The pieces of loads that the engine does not have yet.
CREATE TABLE pipe_table_ranges (
  pipe_id text NOT NULL,
  target_table text NOT NULL,
  number integer NOT NULL,
  -- As whoever loads it reads it.
  range text NOT NULL,
  PRIMARY KEY (pipe_id, target_table, number),
  FOREIGN KEY (pipe_id, target_table) REFERENCES pipe_tables (pipe_id, target_table) ON DELETE CASCADE
) /* sqlite: WITHOUT ROWID */;
