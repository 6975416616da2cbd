-- Makes the partitions of history and attempt_texts for the day (UTC) of a time, where there are none.
SELECT divvy_make_history((@at::timestamptz AT TIME ZONE 'UTC')::date);
