-- The next ends of a task, in the order of the log. Times never fall along it, so days before the last end that is known are left out.
(
    SELECT h.task, h.nth, h.job AS low, h.job AS high, h.attempt, h.outcome, h.state, h.exit_code, h.ended_at AS at
    FROM history h
    WHERE h.task = @task::bigint AND h.nth >= @nth::bigint AND (h.nth, h.job) > (@nth::bigint, @low::bigint) AND h.ended_at >= @at::timestamptz
    ORDER BY h.nth LIMIT @most::int
)
UNION ALL
(
    SELECT o.task, o.nth, o.low, o.high, 0 AS attempt, ' '::"char" AS outcome, o.state, 0 AS exit_code, o.at
    FROM over_ranges o
    WHERE o.task = @task::bigint AND (o.nth, o.low) > (@nth::bigint, @low::bigint)
    ORDER BY o.nth, o.low LIMIT @most::int
)
ORDER BY nth, low LIMIT @most::int;
