-- How long jobs have waited, from the submission of their task, or where they try a piece again from being made: those that are first in a
-- share, each by its id, or the first of a window that nobody has read yet: of its first rows, where they were made or not, the one that
-- is not leased. In the order that was asked for.
SELECT extract(epoch FROM now() - CASE WHEN h.job > 0 THEN (
    SELECT CASE WHEN j.retry_of IS NULL THEN least(j.created_at, (SELECT coalesce(t.committed_at, t.created_at) FROM tasks t WHERE t.id = j.task_id)) ELSE j.created_at END
    FROM jobs j WHERE j.id = h.job
) ELSE (
    SELECT CASE WHEN f.retry_of IS NULL THEN least(f.created_at, (SELECT coalesce(t.committed_at, t.created_at) FROM tasks t WHERE t.id = f.task_id)) ELSE f.created_at END
    FROM (
        (SELECT j.id, j.place, j.created_at, j.task_id, j.retry_of FROM jobs j
        WHERE j.share_id = h.share AND j.shape_id = h.shape AND j.state = 'ready' AND j.displaced
        ORDER BY j.place, j.id LIMIT 20)
        UNION ALL
        (SELECT i.*
        FROM (
            SELECT place, low, high FROM ready_ranges WHERE share_id = h.share AND shape_id = h.shape ORDER BY place, high LIMIT 1000000000
        ) r
        CROSS JOIN LATERAL (
            SELECT j.id, j.place, j.created_at, j.task_id, j.retry_of FROM jobs j
            WHERE j.id >= r.low AND j.id <= r.high AND j.share_id = h.share AND j.shape_id = h.shape AND j.place = r.place
                AND j.state = 'ready' AND j.displaced IS NOT TRUE
            ORDER BY j.id LIMIT 20
        ) i
        LIMIT 20)
    ) f
    WHERE (SELECT l.attempt FROM leases l WHERE l.job_id = f.id) IS NULL
    ORDER BY f.place, f.id LIMIT 1
) END)::float8 AS seconds
FROM unnest(@jobs::bigint[], @shares::int[], @shapes::int[]) WITH ORDINALITY AS h (job, share, shape, nth)
ORDER BY h.nth;
