-- Roll-ups of waits by user, of days that ended longer ago than they are kept, oldest first.
DELETE FROM user_wait_hours WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM user_wait_hours
    WHERE hour < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
    ORDER BY hour
    LIMIT @n::int
));
