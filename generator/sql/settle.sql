-- States of tasks are moved on up to a batch.
UPDATE settled SET seq = @seq::bigint;
