-- Drops what was said of jobs that are ready now, or do not wait any more.
DELETE FROM retries WHERE job_id = ANY (@job::bigint[]);
