-- Jobs of a claim without a lease, and how many there are; no more than most are looked at.
WITH looked_at AS MATERIALIZED (
    SELECT j.id, j.task_id, coalesce(j.inputs[1], '') AS name, j.state, j.created_at
    FROM jobs j
    WHERE j.claims @> ARRAY[@claim::bigint] AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
    LIMIT @most::int
)
SELECT id AS job, task_id AS task, name, state, created_at AS since, count(*) OVER () AS n
FROM looked_at
ORDER BY id
LIMIT @n::int;
