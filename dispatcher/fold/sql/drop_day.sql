-- Drops a day of history that is all from before a time; returns how many it dropped.
SELECT divvy_drop_history(@before::timestamptz);
