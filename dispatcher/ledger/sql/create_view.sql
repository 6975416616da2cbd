-- The log for people: a row an entry. The secrets are left out: the nonce of a lease, the key of a pull. Bounds on seq prune
-- partitions, a bound on the column at does not: write seq >= report.ledger_seq('…').
CREATE VIEW report.ledger AS
SELECT b.seq, e.i AS entry, b.at, b.by,
    CASE e.letter
        WHEN 'q' THEN 'enqueued' WHEN 'g' THEN 'granted' WHEN 's' THEN 'started' WHEN 'e' THEN 'ended' WHEN 'v' THEN 'revoked'
        WHEN 'x' THEN 'expected' WHEN 'h' THEN 'shaped' WHEN 'a' THEN 'adopted' WHEN 'b' THEN 'bounded' WHEN 'p' THEN 'polled' WHEN 'L' THEN 'leader' WHEN 't' THEN 'tick'
        WHEN 'c' THEN 'claimed' WHEN 'u' THEN 'unclaimed' WHEN 'j' THEN 'joined' WHEN 'd' THEN 'dropped' WHEN 'k' THEN 'took'
        WHEN 'P' THEN 'paused' WHEN 'R' THEN 'resumed' WHEN 'K' THEN 'killed' WHEN 'o' THEN 'placed' WHEN 'M' THEN 'moved' WHEN 'f' THEN 'closed'
        WHEN 'C' THEN 'capped' WHEN 'r' THEN 'reported' WHEN 'H' THEN 'holed' WHEN 'O' THEN 'owed' WHEN 'S' THEN 'stood' WHEN 'A' THEN 'asked'
        ELSE e.letter
    END AS kind,
    coalesce(g.job, x.job, s.job, (b.rare[r.n] ->> 'job')::bigint) AS job,
    coalesce(g.attempt, x.attempt, s.attempt,
        CASE e.letter WHEN 'g' THEN b.granted_attempts[1] WHEN 'e' THEN b.ended_attempts[1] WHEN 's' THEN b.started_attempts[1] END,
        (b.rare[r.n] ->> 'attempt')::int) AS attempt,
    CASE e.letter WHEN 'g' THEN coalesce(g.task, b.granted_tasks[1]) ELSE (b.rare[r.n] ->> 'task')::bigint END AS task,
    CASE e.letter WHEN 'g' THEN coalesce(g.share, b.granted_shares[1]) ELSE (b.rare[r.n] ->> 'share')::int END AS share,
    CASE e.letter WHEN 'g' THEN coalesce(g.shape, b.granted_shapes[1]) ELSE (b.rare[r.n] ->> 'shape')::int END AS shape,
    CASE e.letter WHEN 'g' THEN coalesce(g.place, b.granted_places[1]) ELSE (b.rare[r.n] ->> 'place')::bigint END AS place,
    CASE e.letter WHEN 'g' THEN coalesce(g.queue, b.granted_queues[1]) WHEN 'p' THEN (b.rare[r.n] ->> 'queue')::int END AS queue,
    CASE e.letter WHEN 'g' THEN coalesce(g.units, b.granted_units[1]) END AS units,
    CASE e.letter WHEN 'g' THEN coalesce(g.pilot, b.granted_pilots[1]) END AS pilot,
    CASE e.letter WHEN 'g' THEN coalesce(g.node, b.granted_nodes[1]) END AS node,
    CASE e.letter WHEN 'e' THEN substr(b.ended_outcomes, least(e.n::int, length(b.ended_outcomes)), 1) END AS outcome,
    CASE e.letter WHEN 'e' THEN substr(b.ended_next, least(e.n::int, length(b.ended_next)), 1) END AS next,
    CASE e.letter WHEN 'e' THEN coalesce(x.exit_code, b.ended_exit_codes[1]) END AS exit_code,
    CASE e.letter WHEN 'e' THEN coalesce(x.cpu_milli, b.ended_cpu_milli[1]) END AS cpu_milli,
    CASE e.letter WHEN 'e' THEN coalesce(x.memory_mb, b.ended_memory_mb[1]) END AS memory_mb,
    b.rare[r.n] AS detail -- all fields of the other kinds
FROM batches b
CROSS JOIN LATERAL (
    -- n counts the entries that are in the same columns.
    SELECT i, letter, row_number() OVER (PARTITION BY CASE WHEN letter IN ('g', 'e', 's') THEN letter END ORDER BY i) AS n
    FROM generate_series(1, length(b.kinds)) AS i, substr(b.kinds, i, 1) AS letter
) e
-- NULL where the entry has columns of its own.
CROSS JOIN LATERAL (SELECT CASE WHEN e.letter NOT IN ('g', 'e', 's') THEN e.n END AS n) r
LEFT JOIN LATERAL unnest(b.granted_jobs, b.granted_attempts, b.granted_tasks, b.granted_shares, b.granted_shapes, b.granted_places,
    b.granted_queues, b.granted_units, b.granted_pilots, b.granted_nodes) WITH ORDINALITY
    AS g (job, attempt, task, share, shape, place, queue, units, pilot, node, n) ON e.letter = 'g' AND g.n = e.n
LEFT JOIN LATERAL unnest(b.ended_jobs, b.ended_attempts, b.ended_exit_codes, b.ended_cpu_milli, b.ended_memory_mb) WITH ORDINALITY
    AS x (job, attempt, exit_code, cpu_milli, memory_mb, n) ON e.letter = 'e' AND x.n = e.n
LEFT JOIN LATERAL unnest(b.started_jobs, b.started_attempts) WITH ORDINALITY AS s (job, attempt, n) ON e.letter = 's' AND s.n = e.n;
