-- Drops what is left of jobs that are not waiting any more.
DELETE FROM retries WHERE job_id = ANY (@ids::bigint[]);
