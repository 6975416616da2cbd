-- Makes the partition of a day so many days after today, where there is none; returns how many it made.
SELECT divvy_make_day(@parent::text, (now() AT TIME ZONE 'UTC')::date + @ahead::int);
