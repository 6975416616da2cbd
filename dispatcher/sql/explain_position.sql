-- Ready jobs of a share before a place, at most so many: for each shape a range of the index from where its window begins,
-- less those of it that are leased. The leases are looked up a row each, whatever the planner thinks of the tables' sizes:
-- there are as many as slots at the most, of ranges any number.
WITH windows AS (
    SELECT * FROM unnest(@shapes::int[], @places::bigint[], @ids::bigint[]) AS w (shape_id, place, id)
), leased AS MATERIALIZED (
    SELECT job_id, shape_id FROM leases WHERE share_id = @share::int
)
SELECT (
    SELECT count(*) FROM (
        SELECT FROM windows w
        CROSS JOIN LATERAL (
            SELECT FROM jobs j
            WHERE j.share_id = @share::int AND j.shape_id = w.shape_id AND j.state = 'ready'
                AND (j.place, j.id) >= (w.place, w.id) AND (j.place, j.id) < (@place::bigint, @job::bigint)
            ORDER BY j.place, j.id
            LIMIT @most::bigint + (SELECT count(*) FROM leased)
        ) ahead
        LIMIT @most::bigint + (SELECT count(*) FROM leased)
    ) counted
) - (
    SELECT count(*) FROM leased l JOIN windows w USING (shape_id)
    WHERE (SELECT (j.place, j.id) >= (w.place, w.id) AND (j.place, j.id) < (@place::bigint, @job::bigint) FROM jobs j WHERE j.id = l.job_id)
);
