-- Reports of attempts that ended before these were written. A piece of the table at a time; after is where the next one begins, 0: at the
-- beginning. An hour before what is folded all leases are in held, or over.
WITH piece AS (
    SELECT job_id, attempt, said_at FROM lease_reports WHERE job_id > @after::bigint ORDER BY job_id LIMIT @n::int
), gone AS (
    DELETE FROM lease_reports r USING piece p
    WHERE r.job_id = p.job_id AND r.attempt = p.attempt AND p.said_at < (SELECT f.at FROM folded f) - interval '1 hour'
        AND NOT EXISTS (SELECT FROM held h WHERE h.job = p.job_id AND h.attempt = p.attempt)
    RETURNING r.job_id
)
SELECT coalesce((SELECT max(job_id) FROM piece HAVING count(*) = @n::int), 0) AS after, (SELECT count(*) FROM gone)::int AS n;
