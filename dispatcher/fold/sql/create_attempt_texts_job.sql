-- Those of an attempt.
CREATE INDEX attempt_texts_job ON attempt_texts (job_id, attempt);
