-- Jobs by their names that failed or were cancelled, and that nothing has tried again: now nothing will. coming are those of
-- them that were about to be: they are among the first ones behind after.
WITH untried AS MATERIALIZED (
    SELECT e.id, e.ended_at, e.inputs[1] AS name, row_number() OVER (ORDER BY e.id) AS nth
    FROM ended_jobs e
    WHERE e.task_id = @task::bigint AND e.id > @after::bigint AND e.state IN ('failed', 'cancelled') AND e.scaled_away IS NULL
), away AS (
    UPDATE ended_jobs e SET scaled_away = true
    FROM untried u
    WHERE e.id = u.id AND e.ended_at = u.ended_at AND u.name = ANY (@names::text[])
    RETURNING u.nth
)
SELECT count(*) AS ended, count(*) FILTER (WHERE nth <= @coming::bigint) AS coming FROM away;
