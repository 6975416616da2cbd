-- Drops a day of a table that is all from before a time; returns how many it dropped.
SELECT divvy_drop_history(@parent::text, @before::timestamptz);
