-- Reports of attempts that are over: they are in attempts.
DELETE FROM lease_reports r
WHERE r.job_id = ANY (@jobs::bigint[])
    AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = ANY (@jobs::bigint[]) AND l.job_id = r.job_id AND l.attempt = r.attempt);
