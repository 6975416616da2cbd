-- Drops a day of a table that ended so many seconds ago; returns how many it dropped.
SELECT divvy_drop_day(@parent::text, now() - make_interval(secs => @keep_s::float8));
