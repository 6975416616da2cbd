-- What is not settled yet; mostly empty.
CREATE INDEX reclaims_open ON reclaims (job_id) WHERE closed_at IS NULL;
