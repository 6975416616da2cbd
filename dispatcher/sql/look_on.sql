-- The next live jobs of tasks, of each behind an id, and which of them are in one of these states and have no lease. Of
-- every task that has jobs here they are its next ones, so many at the most; what comes behind the last of all is not looked at.
-- The lease is asked for as a value: as NOT EXISTS, all leases there are might be read for it.
SELECT w.task AS task_id, n.id, n.idle
FROM unnest(@tasks::bigint[], @afters::bigint[]) AS w (task, after)
CROSS JOIN LATERAL (
    SELECT j.id, j.idle
    FROM (
        SELECT task_id, low, high FROM job_ranges WHERE task_id = w.task AND high > w.after ORDER BY high LIMIT 1000000000
    ) r
    CROSS JOIN LATERAL (
        SELECT i.id, i.state = ANY (@states::text[]) AND (SELECT l.attempt FROM leases l WHERE l.job_id = i.id) IS NULL AS idle
        FROM jobs i
        WHERE i.id > w.after AND i.id >= r.low AND i.id <= r.high AND i.task_id = r.task_id
        ORDER BY i.id
        LIMIT @each::int
    ) j
    LIMIT @each::int
) n
LIMIT @n::int;
