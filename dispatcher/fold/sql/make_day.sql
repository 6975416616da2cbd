-- Makes the partition of history for the day (UTC) of a time, where there is none.
SELECT divvy_make_history((@at::timestamptz AT TIME ZONE 'UTC')::date);
