-- How many of these jobs are leased.
SELECT count(*) FROM leases WHERE job_id = ANY (@jobs::bigint[]);
