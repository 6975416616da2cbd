-- Ready jobs of a share before a place, among so many rows that are looked at: for each shape a range of the index from where
-- its window begins, each row with a look-up whether it is leased. Nothing else is read, however many leases the share has.
SELECT count(*) FILTER (WHERE c.free) AS free, count(*) AS looked
FROM (
    SELECT (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL AS free
    FROM unnest(@shapes::int[], @places::bigint[], @ids::bigint[]) AS w (shape_id, place, id)
    CROSS JOIN LATERAL (
        SELECT j.id FROM jobs j
        WHERE j.share_id = @share::int AND j.shape_id = w.shape_id AND j.state = 'ready'
            AND (j.place, j.id) >= (w.place, w.id) AND (j.place, j.id) < (@place::bigint, @job::bigint)
        ORDER BY j.place, j.id
        LIMIT @looks::bigint
    ) j
    LIMIT @looks::bigint
) c;
