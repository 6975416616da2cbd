-- The jobs whose time comes next.
CREATE INDEX retries_due ON retries (due_at, job_id);
