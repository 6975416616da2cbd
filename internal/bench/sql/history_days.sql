-- Partitions for so many days before today.
SELECT divvy_make_days(@parent::text, (now() AT TIME ZONE 'UTC')::date - @days::int, @days::int);
