-- Reports that their end has left behind: it was a daemon of the version before, or was killed right after. A piece of the
-- table at a time; after is where the next one begins, 0 = at the beginning. The bounds are said of both tables: else they
-- would be read from their beginning.
WITH piece AS (
    SELECT job_id, attempt FROM lease_reports WHERE job_id > @after::bigint ORDER BY job_id LIMIT @n::int
), upto AS (
    SELECT max(job_id) AS id FROM piece
), gone AS (
    DELETE FROM lease_reports r USING piece p
    WHERE r.job_id = p.job_id AND r.job_id > @after::bigint AND r.job_id <= (SELECT id FROM upto)
        AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = p.job_id AND l.attempt = p.attempt
            AND l.job_id > @after::bigint AND l.job_id <= (SELECT id FROM upto))
    RETURNING r.job_id
)
SELECT coalesce((SELECT max(job_id) FROM piece HAVING count(*) = @n::int), 0) AS after, (SELECT count(*) FROM gone)::int AS n;
