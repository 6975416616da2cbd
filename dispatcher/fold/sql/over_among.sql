-- The jobs of a task with ids from low to high that are over, by id.
(
    SELECT h.task, h.job AS low, h.job AS high, h.attempt, h.outcome, h.state, h.exit_code, h.ended_at AS at
    FROM history h
    WHERE h.job >= @low::bigint AND h.job <= @high::bigint AND h.task = @task::bigint AND h.state IN ('f', 'x', 'c')
    ORDER BY h.job LIMIT @most::int
)
UNION ALL
(
    SELECT o.task, greatest(o.low, @low::bigint), least(o.high, @high::bigint), 0 AS attempt, ' '::"char" AS outcome, o.state, 0 AS exit_code, o.at
    FROM over_ranges o
    WHERE o.high >= @low::bigint AND o.low <= @high::bigint AND o.task = @task::bigint
    ORDER BY o.high LIMIT @most::int
)
ORDER BY low LIMIT @most::int;
