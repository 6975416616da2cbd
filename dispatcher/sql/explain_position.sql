-- Ready jobs of a share before a place, by shape, among so many rows that are looked at: for each shape those from where its window begins, by
-- their ranges or by jobs_displaced, each row with a look-up whether it is leased. Of a range, jobs that have gone elsewhere are passed over unseen.
SELECT c.shape_id, count(*) FILTER (WHERE c.free) AS free, count(*) AS looked
FROM (
    SELECT w.shape_id, (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL AS free
    FROM unnest(@shapes::int[], @places::bigint[], @ids::bigint[]) AS w (shape_id, place, id)
    CROSS JOIN LATERAL (
        (SELECT j.id FROM jobs j
        WHERE j.share_id = @share::int AND j.shape_id = w.shape_id AND j.state = 'ready' AND j.displaced
            AND (j.place, j.id) >= (w.place, w.id) AND (j.place, j.id) < (@place::bigint, @job::bigint)
        ORDER BY j.place, j.id
        LIMIT @looks::bigint)
        UNION ALL
        (SELECT i.id
        FROM (
            SELECT place, low, high FROM ready_ranges
            WHERE share_id = @share::int AND shape_id = w.shape_id AND (place, high) >= (w.place, w.id) AND place <= @place::bigint
            ORDER BY place, high LIMIT 1000000000
        ) r
        CROSS JOIN LATERAL (
            SELECT j.id FROM jobs j
            WHERE j.id >= CASE WHEN r.place = w.place THEN w.id ELSE 0 END AND j.id >= r.low AND j.id <= r.high
                AND (r.place < @place::bigint OR j.id < @job::bigint)
                AND j.share_id = @share::int AND j.shape_id = w.shape_id AND j.place = r.place AND j.state = 'ready' AND j.displaced IS NOT TRUE
            ORDER BY j.id
            LIMIT @looks::bigint
        ) i
        LIMIT @looks::bigint)
    ) j
    LIMIT @looks::bigint
) c
GROUP BY c.shape_id;
