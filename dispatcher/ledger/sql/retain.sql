-- Drops one partition whose rows are all from before a time and folded; returns how many it dropped.
SELECT divvy_drop_batches(@before::timestamptz, @folded::bigint);
