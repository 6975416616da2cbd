-- Days from today on that have no partition, and how many days ago the oldest one ended; by table.
SELECT t.name,
    ARRAY(
        SELECT d FROM generate_series(0, t.ahead) AS d
        WHERE to_regclass('public.' || t.name || to_char((now() AT TIME ZONE 'UTC')::date + d, '_YYYYMMDD')) IS NULL
        ORDER BY d
    )::int[] AS missing,
    coalesce((SELECT (now() AT TIME ZONE 'UTC')::date - min(to_date(right(c.relname::text, 8), 'YYYYMMDD')) - 1
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = to_regclass('public.' || t.name) AND c.relname ~ ('^' || t.name || '_[0-9]{8}$')), 0)::int AS oldest
FROM unnest(@tables::text[], @aheads::int[]) AS t (name, ahead)
ORDER BY t.name;
