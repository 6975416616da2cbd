-- Drops orders that are old and closed.
DELETE FROM reclaims WHERE (job_id, attempt) IN (
    SELECT job_id, attempt FROM reclaims WHERE closed_at IS NOT NULL AND ordered_at < now() - make_interval(secs => @older_s::float8)
    ORDER BY ordered_at LIMIT @n::int
);
