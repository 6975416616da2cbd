-- The partition of one day of a table, so many days after today.
SELECT divvy_make_days(@parent::text, (now() AT TIME ZONE 'UTC')::date + @ahead::int, 1);
