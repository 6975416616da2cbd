-- How many jobs are to be made.
INSERT INTO expected AS x (share, shape, jobs)
SELECT share, shape, jobs FROM unnest(@shares::int[], @shapes::int[], @jobs::bigint[]) AS e (share, shape, jobs)
ON CONFLICT (share, shape) DO UPDATE SET jobs = excluded.jobs;
