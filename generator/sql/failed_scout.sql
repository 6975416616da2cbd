-- The first job of a task that failed, with how its last attempt ended: the end that made it fail, or one after which it waited until a
-- rule gave it up. Scouts are the first jobs of a task, and few.
SELECT h.job AS id, h.attempt, h.outcome = 'l' AS lost, h.exit_code, coalesce(x.reason, '') AS message
FROM (SELECT low, high, made_at FROM job_blocks WHERE task_id = @task::bigint ORDER BY low LIMIT 1000) b
CROSS JOIN LATERAL (
    SELECT a.job, a.attempt, a.outcome, a.exit_code, a.ended_at
    FROM history a
    WHERE a.job >= b.low AND a.job <= b.high AND a.ended_at >= b.made_at - interval '1 day'
        AND (a.state = 'x' OR a.state = 'w' AND EXISTS (
            SELECT FROM (SELECT o.low, o.state FROM over_ranges o WHERE o.high >= a.job ORDER BY o.high LIMIT 1) o
            WHERE o.low <= a.job AND o.state = 'x'))
    ORDER BY a.job, a.attempt DESC LIMIT 1
) h
LEFT JOIN attempt_texts x ON x.job_id = h.job AND x.attempt = h.attempt AND x.ended_on = (h.ended_at AT TIME ZONE 'UTC')::date
ORDER BY h.job LIMIT 1;
