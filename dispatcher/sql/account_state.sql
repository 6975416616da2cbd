-- Up to where attempts are counted, and whether somebody may still commit one with a number up to upto.
SELECT s.done, s.upto, s.past, EXISTS (
    SELECT FROM pg_locks l
    WHERE l.virtualtransaction = ANY (s.holders) AND l.relation = 'attempts'::regclass AND l.mode = 'RowExclusiveLock'
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS held
FROM usage_state s FOR UPDATE;
