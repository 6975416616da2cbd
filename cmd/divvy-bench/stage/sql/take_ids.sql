-- Takes so many ids and returns the first; those before it fill the partition of ids that was begun.
WITH newest AS (
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS id FROM job_ids
), partition AS (
    SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)')::bigint AS until
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'job_blocks'::regclass
)
SELECT divvy_take_ids(p.until - n.id - 1 + @n::bigint) + p.until - n.id - 1
FROM newest n CROSS JOIN LATERAL (SELECT min(until) AS until FROM partition WHERE until > n.id + 1) p;
