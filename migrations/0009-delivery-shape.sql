-- What the rows of a delivery were made of: a digest of their fields and columns. A pipe that was changed since makes other rows of
-- the same records. NULL where nobody asks for it, and of a delivery that an older version has begun.
ALTER TABLE pipe_deliveries ADD COLUMN shape text;
