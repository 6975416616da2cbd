-- What lies in the default partition, since its day had none, and is older than so many days that ended. Only what is in the
-- roll-ups.
DELETE FROM attempts_rest WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM attempts_rest
    WHERE ended_at < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
        AND coalesce(nth <= (SELECT done FROM usage_state), ended_at < coalesce((SELECT past FROM usage_state), 'infinity'))
    LIMIT @n::int
));
