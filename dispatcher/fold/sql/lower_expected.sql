-- Jobs that were made are expected no more.
UPDATE expected x SET jobs = greatest(0, x.jobs + e.jobs)
FROM unnest(@shares::int[], @shapes::int[], @jobs::bigint[]) AS e (share, shape, jobs)
WHERE x.share = e.share AND x.shape = e.shape AND x.jobs > 0;
