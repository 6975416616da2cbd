-- Makes the partitions of today and tomorrow.
SELECT divvy_make_history((now() AT TIME ZONE 'UTC')::date + i) FROM generate_series(0, 1) AS i;
