-- The jobs that are ready next.
CREATE INDEX retries_due ON retries (due_at, job_id) WHERE NOT split;
