-- What makes pipes run: who works on which, how far each has come, and what it has done.

-- Why the pipe has its state, as a sentence; NULL while there is nothing to tell.
ALTER TABLE pipes ADD COLUMN state_reason text;

-- Counts the claims of the workers of a pipe. What an earlier claim writes is refused.
ALTER TABLE pipes ADD COLUMN epoch bigint NOT NULL DEFAULT 0;

-- The rows that were refused are to be tried again; NULL when nobody asks.
ALTER TABLE pipes ADD COLUMN replay_requested_at text;

CREATE INDEX pipes_to_run ON pipes (id)
  WHERE state IN ('Provisioning', 'Setup', 'Snapshot', 'Running', 'Modifying', 'Resync', 'Degraded', 'Stopping', 'Pausing');

-- Processes that run pipes. One that has not been seen for a while has ended.
CREATE TABLE runners (
  id text PRIMARY KEY,
  started_at text NOT NULL,
  seen_at text NOT NULL
) /* sqlite: WITHOUT ROWID */;

-- A worker is one of the `slots` that share the partitions of a pipe. Who holds it before it expires, works.
CREATE TABLE pipe_workers (
  pipe_id text NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  slot integer NOT NULL,
  slots integer NOT NULL,
  runner_id text NOT NULL,
  epoch bigint NOT NULL,
  expires_at text NOT NULL,
  -- The version of the pipe that it works by; 0 until it has begun.
  pipe_version integer NOT NULL DEFAULT 0,
  -- Of the worker; the pipe's state is made of those of all its workers.
  state text NOT NULL DEFAULT 'starting' CHECK (state IN ('starting', 'running', 'modifying', 'degraded', 'completed')),
  -- Why it is degraded.
  reason text,
  -- What it is doing, as a sentence.
  doing text NOT NULL DEFAULT '',
  -- Of what it reads; NULL as long as nobody knows.
  lag_records bigint,
  PRIMARY KEY (pipe_id, slot)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX pipe_workers_of_runner ON pipe_workers (runner_id);

-- How far each partition is durable in the engine.
CREATE TABLE pipe_positions (
  pipe_id text NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  partition text NOT NULL,
  -- As the source names it.
  position text NOT NULL,
  -- Of an object that is loaded in pieces: the position after it, and how far into it the engine has it.
  within text,
  offset_bytes bigint,
  epoch bigint NOT NULL,
  PRIMARY KEY (pipe_id, partition)
) /* sqlite: WITHOUT ROWID */;

-- What has been, or may have been, sent to the engine and is not behind the positions yet. Written before the first byte is sent.
CREATE TABLE pipe_deliveries (
  pipe_id text NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  -- The token by which the engine knows it.
  id text NOT NULL,
  slot integer NOT NULL,
  slots integer NOT NULL,
  epoch bigint NOT NULL,
  -- In the order in which they were made.
  number bigint NOT NULL,
  -- Which pieces of which partitions, as JSON.
  ranges text NOT NULL,
  -- Rows of it that the engine refuses, as JSON, known before the others are sent; NULL until then.
  bad_rows text,
  is_done integer NOT NULL DEFAULT 0 CHECK (is_done IN (0, 1)),
  PRIMARY KEY (pipe_id, id)
) /* sqlite: WITHOUT ROWID */;

CREATE TABLE pipe_figures (
  pipe_id text PRIMARY KEY REFERENCES pipes (id) ON DELETE CASCADE,
  -- Records and rows of files, and what they are as they lie in the source.
  rows_read bigint NOT NULL DEFAULT 0,
  bytes_read bigint NOT NULL DEFAULT 0,
  -- Inserted into the engine, and sent to it.
  rows_written bigint NOT NULL DEFAULT 0,
  bytes_written bigint NOT NULL DEFAULT 0,
  rows_refused bigint NOT NULL DEFAULT 0,
  inserts bigint NOT NULL DEFAULT 0,
  retries bigint NOT NULL DEFAULT 0,
  last_insert_at text,
  last_error text,
  last_error_at text,
  -- 'exactly_once' or 'at_least_once', and why not more; NULL before the first worker has begun.
  delivery text,
  delivery_reason text
) /* sqlite: WITHOUT ROWID */;

-- By the minute, of the last 25 hours.
CREATE TABLE pipe_throughput (
  pipe_id text NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  minute text NOT NULL,
  rows_read bigint NOT NULL,
  bytes_read bigint NOT NULL,
  rows_written bigint NOT NULL,
  rows_refused bigint NOT NULL,
  PRIMARY KEY (pipe_id, minute)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX pipe_throughput_by_age ON pipe_throughput (minute);
