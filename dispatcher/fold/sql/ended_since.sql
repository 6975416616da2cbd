-- The attempts that some steps folded, in the order of the log, each found by its job within the days of its step.
SELECT h.task, h.job AS low, h.job AS high, h.attempt, h.outcome, h.state, h.exit_code, h.ended_at AS at
FROM (
    SELECT * FROM steps WHERE seq > @after::bigint AND seq <= @up_to::bigint ORDER BY seq
) s
CROSS JOIN LATERAL unnest(s.jobs, s.attempts) WITH ORDINALITY AS e (job, attempt, place)
CROSS JOIN LATERAL (
    SELECT * FROM history i
    WHERE i.job = e.job AND i.attempt = e.attempt AND i.ended_at >= s.since AND i.ended_at <= s.at
    OFFSET 0
) h
ORDER BY s.seq, e.place;
