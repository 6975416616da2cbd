-- Ready jobs of a share before a place, at most so many: for each shape a range of the index from where its window begins.
SELECT count(*)
FROM (
    SELECT FROM unnest(@shapes::int[], @places::bigint[], @ids::bigint[]) AS w (shape_id, place, id)
    CROSS JOIN LATERAL (
        SELECT FROM jobs j
        WHERE j.share_id = @share::int AND j.shape_id = w.shape_id AND j.state = 'ready'
            AND (j.place, j.id) >= (w.place, w.id) AND (j.place, j.id) < (@place::bigint, @job::bigint)
            -- A look-up a row, whatever the planner thinks of the tables' sizes.
            AND (SELECT l.attempt FROM leases l WHERE l.job_id = j.id) IS NULL
        ORDER BY j.place, j.id
        LIMIT @most::int
    ) before
    LIMIT @most::int
) counted;
