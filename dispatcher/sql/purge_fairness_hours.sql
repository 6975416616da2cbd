-- How fair hours were, of days that ended longer ago than they are kept, oldest first.
DELETE FROM fairness_hours WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM fairness_hours
    WHERE hour < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
    ORDER BY hour
    LIMIT @n::int
));
