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
        e.befores[1]::"char" AS the_before, e.afters[1]::"char" AS the_after, e.ns[1] AS the_n
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
), moves AS (
    -- By task and kind of move first, of which there are few. Arrays are taken apart side by side; a shorter one has one
    -- value for all.
    SELECT m.task_id, coalesce(m.before::"char", the_before) AS before, coalesce(m.after::"char", the_after) AS after,
        sum(coalesce(m.n, the_n)) AS n, min(m.at) AS first_at, max(m.at) AS last_at
    FROM (
        SELECT unnest(t.task_ids) AS task_id, unnest(t.befores) AS before, unnest(t.afters) AS after, unnest(t.ns) AS n,
            t.at, t.the_before, t.the_after, t.the_n
        FROM tail t JOIN moved USING (daemon_id, lane)
    ) m
    GROUP BY 1, 2, 3
)
SELECT task_id,
    sum(CASE WHEN after = 'w' THEN n ELSE 0 END - CASE WHEN before = 'w' THEN n ELSE 0 END)::bigint AS waiting,
    sum(CASE WHEN after = 'r' THEN n ELSE 0 END - CASE WHEN before = 'r' THEN n ELSE 0 END)::bigint AS ready,
    sum(CASE WHEN after = 'l' THEN n ELSE 0 END - CASE WHEN before = 'l' THEN n ELSE 0 END)::bigint AS leased,
    sum(CASE WHEN after = 'f' THEN n ELSE 0 END - CASE WHEN before = 'f' THEN n ELSE 0 END)::bigint AS finished,
    sum(CASE WHEN after = 'x' THEN n ELSE 0 END - CASE WHEN before = 'x' THEN n ELSE 0 END)::bigint AS failed,
    sum(CASE WHEN after = 'c' THEN n ELSE 0 END - CASE WHEN before = 'c' THEN n ELSE 0 END)::bigint AS cancelled,
    sum(n)::bigint AS moves,
    coalesce(min(first_at) FILTER (WHERE after = 'l'), max(last_at)) AS first_at,
    max(last_at) AS last_at,
    (SELECT count(*) FROM tail)::bigint AS rows_read
FROM moves
GROUP BY task_id;
