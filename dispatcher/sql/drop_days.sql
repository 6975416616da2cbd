-- The partitions of days that ended at least so many days ago.
SELECT divvy_drop_days(@parent::text, (now() AT TIME ZONE 'UTC')::date - @keep::int);
