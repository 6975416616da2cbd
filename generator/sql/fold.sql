-- Reads the ledger on from where task_lanes stands, moves task_lanes there, and returns what that changes in the
-- counts of each task. A lane whose row somebody else moved meanwhile is left out: its moves are counted there.
WITH RECURSIVE known AS (
    -- The lanes that the ledger has, by jumping from one to the next in its primary key.
    (SELECT daemon_id, lane FROM ledger ORDER BY daemon_id, lane LIMIT 1)
    UNION ALL
    SELECT n.daemon_id, n.lane FROM known k CROSS JOIN LATERAL (
        SELECT daemon_id, lane FROM ledger WHERE (daemon_id, lane) > (k.daemon_id, k.lane) ORDER BY daemon_id, lane LIMIT 1
    ) n
), tail AS MATERIALIZED (
    SELECT k.daemon_id, k.lane, coalesce(s.seq, 0) AS seen, e.seq, e.at, e.task_ids, e.befores, e.afters, e.ns,
        e.befores[1] AS the_before, e.afters[1] AS the_after, e.ns[1] AS the_n
    FROM known k
    LEFT JOIN task_lanes s ON s.daemon_id = k.daemon_id AND s.lane = k.lane
    CROSS JOIN LATERAL (
        SELECT seq, at, task_ids, befores, afters, ns FROM ledger
        WHERE daemon_id = k.daemon_id AND lane = k.lane AND seq > coalesce(s.seq, 0)
        ORDER BY seq LIMIT @rows::int
    ) e
), ends AS MATERIALIZED (
    SELECT daemon_id, lane, max(seen) AS seen, max(seq) AS seq FROM tail GROUP BY daemon_id, lane
), moved AS (
    INSERT INTO task_lanes AS s (daemon_id, lane, seq)
    SELECT daemon_id, lane, seq FROM ends ORDER BY daemon_id, lane
    ON CONFLICT (daemon_id, lane) DO UPDATE SET seq = excluded.seq
    WHERE s.seq = (SELECT e.seen FROM ends e WHERE e.daemon_id = excluded.daemon_id AND e.lane = excluded.lane)
    RETURNING daemon_id, lane
)
SELECT m.task_id,
    sum(CASE WHEN after = 'w' THEN n ELSE 0 END - CASE WHEN before = 'w' THEN n ELSE 0 END)::bigint AS waiting,
    sum(CASE WHEN after = 'r' THEN n ELSE 0 END - CASE WHEN before = 'r' THEN n ELSE 0 END)::bigint AS ready,
    sum(CASE WHEN after = 'l' THEN n ELSE 0 END - CASE WHEN before = 'l' THEN n ELSE 0 END)::bigint AS leased,
    sum(CASE WHEN after = 'f' THEN n ELSE 0 END - CASE WHEN before = 'f' THEN n ELSE 0 END)::bigint AS finished,
    sum(CASE WHEN after = 'x' THEN n ELSE 0 END - CASE WHEN before = 'x' THEN n ELSE 0 END)::bigint AS failed,
    sum(CASE WHEN after = 'c' THEN n ELSE 0 END - CASE WHEN before = 'c' THEN n ELSE 0 END)::bigint AS cancelled,
    sum(n)::bigint AS moves,
    coalesce(min(t.at) FILTER (WHERE after = 'l'), max(t.at)) AS first_at,
    max(t.at) AS last_at,
    (SELECT count(*) FROM tail)::bigint AS rows_read
FROM tail t
JOIN moved USING (daemon_id, lane)
CROSS JOIN LATERAL (
    SELECT task_id, coalesce(u.before, the_before) AS before, coalesce(u.after, the_after) AS after, coalesce(u.n, the_n) AS n
    FROM unnest(t.task_ids, t.befores, t.afters, t.ns) AS u (task_id, before, after, n)
) AS m
GROUP BY m.task_id;
