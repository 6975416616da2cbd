-- Roll-ups of usage by the hour, of days that ended longer ago than they are kept, oldest first.
DELETE FROM usage_hours WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage_hours
    WHERE hour < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
    ORDER BY hour
    LIMIT @n::int
));
