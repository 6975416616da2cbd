-- What lies in the default partition, since its day had none, and is older than so many days that ended.
DELETE FROM share_samples_rest WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM share_samples_rest
    WHERE at < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
    LIMIT @n::int
));
