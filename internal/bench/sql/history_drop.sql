-- Drops the oldest day before today; whether there was one.
SELECT coalesce(divvy_drop_days(@parent::text, (
    SELECT to_date(right(min(c.relname::text), 8), 'YYYYMMDD') + 1
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = (@parent::text)::regclass AND c.relname ~ ('^' || @parent::text || '_[0-9]{8}$')
        AND right(c.relname::text, 8) < to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')
)), 0) > 0;
