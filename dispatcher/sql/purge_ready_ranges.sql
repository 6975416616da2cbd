-- As purge_ranges, of the ranges of the ready order: those that have no job which is where it was made.
WITH next AS MATERIALIZED (
    SELECT ctid AS row, share_id, shape_id, place, low, high FROM ready_ranges
    WHERE (share_id, shape_id, place, high) > (@share::int, @shape::int, @place::bigint, @high::bigint)
    ORDER BY share_id, shape_id, place, high
    LIMIT @n::int
), gone AS (
    DELETE FROM ready_ranges
    WHERE ctid = ANY (ARRAY(
        SELECT n.row FROM next n
        WHERE (SELECT j.id FROM jobs j
            WHERE j.id >= n.low AND j.id <= n.high AND j.share_id = n.share_id AND j.shape_id = n.shape_id AND j.place = n.place AND j.displaced IS NOT TRUE
            ORDER BY j.id LIMIT 1) IS NULL))
    RETURNING high
)
SELECT n.share_id, n.shape_id, n.place, n.high, (SELECT count(*) FROM gone)::int AS gone FROM next n
ORDER BY n.share_id DESC, n.shape_id DESC, n.place DESC, n.high DESC LIMIT 1;
