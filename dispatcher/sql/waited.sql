-- How long ago jobs were made: those that are first in a share, each by its id, or the first of a window that nobody has read yet:
-- of its first rows the one that is not leased. In the order that was asked for.
SELECT extract(epoch FROM now() - CASE WHEN h.job > 0 THEN (SELECT j.created_at FROM jobs j WHERE j.id = h.job) ELSE (
    SELECT f.created_at
    FROM (
        SELECT j.id, j.place, j.created_at FROM jobs j
        WHERE j.share_id = h.share AND j.shape_id = h.shape AND j.state = 'ready'
        ORDER BY j.place, j.id LIMIT 20
    ) f
    WHERE (SELECT l.attempt FROM leases l WHERE l.job_id = f.id) IS NULL
    ORDER BY f.place, f.id LIMIT 1
) END)::float8 AS seconds
FROM unnest(@jobs::bigint[], @shares::int[], @shapes::int[]) WITH ORDINALITY AS h (job, share, shape, nth)
ORDER BY h.nth;
