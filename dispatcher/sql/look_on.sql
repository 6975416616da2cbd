-- The next live jobs of tasks, of each behind an id, and which of them are in one of these states and have no lease. Of
-- every task that has jobs here they are its next ones, so many at the most; what comes behind the last of all is not looked at.
-- The lease is asked for as a value: as NOT EXISTS, all leases there are might be read for it.
-- Said like this it goes by jobs_task and never by all ids on from one: behind the last job of a task may be millions of others.
SELECT w.task AS task_id, n.id, n.idle
FROM unnest(@tasks::bigint[], @afters::bigint[]) AS w (task, after)
CROSS JOIN LATERAL (
    SELECT j.id, j.state = ANY (@states::text[]) AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL AS idle
    FROM jobs j
    WHERE (j.task_id, j.id) > (w.task, w.after) AND j.task_id <= w.task
    ORDER BY j.task_id, j.id
    LIMIT @each::int
) n
LIMIT @n::int;
