-- Who may have taken a number and not committed yet: a statement after the one that read it. Returns how many.
UPDATE usage_state SET holders = ARRAY(
    SELECT DISTINCT l.virtualtransaction FROM pg_locks l
    WHERE l.relation = 'attempts'::regclass AND l.mode = 'RowExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
RETURNING cardinality(holders);
