-- Partitions that have days of history before today, or jobs with these ids.
SELECT (SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'history'::regclass AND right(c.relname::text, 8) < to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'))
    + (SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'jobs'::regclass
            AND substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)')::bigint BETWEEN @first::bigint AND @last::bigint);
