-- Partitions whose jobs were all made before a time, unless an older row of the outbox waits. A block that was made by then behind a
-- partition shows that all of its ids were given long ago, so that no transaction is about to use one.
WITH bounds AS (
    SELECT b[1]::bigint AS low, b[2]::bigint - 1 AS high
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''(\d+)''\) TO \(''(\d+)''\)') AS b
    WHERE i.inhparent = 'job_blocks'::regclass
)
SELECT p.low, p.high
FROM bounds p
WHERE NOT EXISTS (SELECT FROM job_blocks b WHERE b.low BETWEEN p.low AND p.high AND b.made_at >= @before::timestamptz)
    AND NOT EXISTS (
        SELECT FROM (SELECT b.high, b.made_at FROM job_blocks b WHERE b.low < p.low ORDER BY b.low DESC LIMIT 1) b
        WHERE b.high >= p.low AND b.made_at >= @before::timestamptz
    )
    AND EXISTS (SELECT FROM job_blocks b WHERE b.low > p.high AND b.made_at < @before::timestamptz)
    AND NOT EXISTS (SELECT FROM outbox o WHERE o.refused IS NULL AND o.made_at < @before::timestamptz)
ORDER BY p.low;
