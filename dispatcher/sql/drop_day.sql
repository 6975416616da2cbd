-- The partition of the oldest day of a table, when that ended at least so many days ago: one, so that its lock is short.
SELECT divvy_drop_days(@parent::text, least((now() AT TIME ZONE 'UTC')::date - @keep::int, (
    SELECT to_date(right(min(c.relname::text), 8), 'YYYYMMDD') + 1
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = (@parent::text)::regclass AND c.relname ~ ('^' || @parent::text || '_[0-9]{8}$')
)));
