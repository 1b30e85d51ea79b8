-- Rejected rows that are kept beside the tables of a pipe, by the day (UTC) of their rejection; of the days that they are kept for.
CREATE TABLE pipe_rejections (
  pipe_id text NOT NULL REFERENCES pipes (id) ON DELETE CASCADE,
  day text NOT NULL,
  rejected bigint NOT NULL,
  PRIMARY KEY (pipe_id, day)
) /* sqlite: WITHOUT ROWID */;
