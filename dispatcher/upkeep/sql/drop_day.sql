-- Drops a day of a table that ended so many seconds ago, and before a time; returns how many it dropped.
SELECT divvy_drop_day(@parent::text, least(now() - make_interval(secs => @keep_s::float8), @until::timestamptz));
