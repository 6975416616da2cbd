-- Sums of held jobs and units that differ from the leases.
SELECT count(*) FROM (
    SELECT FROM (
        SELECT share, shape, queue, held, held_units AS units FROM share_counts
        UNION ALL
        SELECT share, shape, queue, -1, -units FROM held
    ) x
    GROUP BY share, shape, queue
    HAVING sum(held) <> 0 OR sum(units) <> 0
) wrong;
