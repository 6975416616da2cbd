-- Drops notes that are old. Ids rise, so the first ones are the oldest.
DELETE FROM judgements WHERE (job_id, attempt) IN (
    SELECT job_id, attempt FROM (SELECT job_id, attempt, noted_at FROM judgements ORDER BY job_id, attempt LIMIT @n::int) o
    WHERE o.noted_at < now() - make_interval(secs => @older_s::float8)
);
