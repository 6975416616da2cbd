-- How many of these jobs are leased.
SELECT count(*) FROM held WHERE job = ANY (@jobs::bigint[]);
