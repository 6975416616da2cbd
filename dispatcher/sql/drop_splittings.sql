-- Drops what is left of jobs that were to be split, and do not wait for it: they were killed.
DELETE FROM retries r
WHERE r.job_id = ANY (@ids::bigint[]) AND r.split
    AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = r.job_id AND j.state = 'waiting' AND j.attempt = r.attempt + 1);
