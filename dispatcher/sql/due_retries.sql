-- The jobs that are due, locked, the longest first; those that another daemon is at are left out, and those that the generator
-- splits.
SELECT job_id, attempt, judged FROM retries WHERE due_at <= now() AND NOT split ORDER BY due_at, job_id LIMIT @n::int FOR UPDATE SKIP LOCKED;
