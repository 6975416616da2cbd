-- Today's partition of a table, and those of the days after it.
SELECT divvy_make_days(@parent::text, (now() AT TIME ZONE 'UTC')::date, @days::int);
