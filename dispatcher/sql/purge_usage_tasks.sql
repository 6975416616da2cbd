-- Roll-ups of usage by the task and day, of days that ended longer ago than they are kept, oldest first.
DELETE FROM usage_tasks WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage_tasks
    WHERE day < (now() AT TIME ZONE 'UTC')::date - @keep::int
    ORDER BY day
    LIMIT @n::int
));
