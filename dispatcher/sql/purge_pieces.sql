-- Pieces of leases whose attempts are dropped already.
DELETE FROM lease_pieces WHERE ctid = ANY (ARRAY(
    SELECT p.ctid FROM lease_pieces p
    WHERE p.until < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
        AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = p.job_id)
        AND NOT EXISTS (SELECT FROM attempts a WHERE a.job_id = p.job_id AND a.attempt = p.attempt)
    LIMIT @n::int
));
