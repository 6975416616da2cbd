-- Roll-ups of attempts by the node and day, of days that ended longer ago than they are kept, oldest first.
DELETE FROM usage_nodes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage_nodes
    WHERE day < (now() AT TIME ZONE 'UTC')::date - @keep::int
    ORDER BY day
    LIMIT @n::int
));
