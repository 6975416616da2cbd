-- Partitions of history for so many days before today.
SELECT divvy_make_history(((now() AT TIME ZONE 'UTC')::date - back)::date) FROM generate_series(1, @days::int) AS back;
