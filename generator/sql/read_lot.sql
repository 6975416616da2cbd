-- The runs of inputs of a lot that a range of positions touches; the first may begin before it, the last end behind it.
SELECT task_id AS task, position, names, sizes, events FROM inputs
WHERE task_id = @task::bigint AND position > @low::bigint - @run::bigint AND position >= @first::bigint AND position < @high::bigint
ORDER BY position;
