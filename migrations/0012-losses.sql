-- Records that the source lost before they could be read, as JSON: what happened, and how many; NULL when nothing is missing.
ALTER TABLE pipe_figures ADD COLUMN losses text;

-- Rejected rows that were taken, or had become void, when they were tried again.
ALTER TABLE pipe_figures ADD COLUMN rows_replayed bigint NOT NULL DEFAULT 0;
-- Why the last replay failed; NULL when it did not.
ALTER TABLE pipe_figures ADD COLUMN replay_error text;

-- Up to which moment the source is delivered: by one worker, and by all of them as far as that was ever known.
ALTER TABLE pipe_workers ADD COLUMN delivered_until text;
ALTER TABLE pipe_figures ADD COLUMN delivered_until text;
