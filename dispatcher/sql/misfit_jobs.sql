-- Locks jobs of a share and a shape, ready or leased, with whose they are where the share gives jobs by fair turn among users.
-- Nobody is waited for: who is at a job now may have changed it, and the next look says.
SELECT j.id, j.task_id, CASE WHEN s.plan->>'within' = 'fair_user' THEN t.user_name END AS user_name
FROM jobs j
JOIN shares s ON s.id = j.share_id
LEFT JOIN tasks t ON t.id = j.task_id
WHERE j.id = ANY (ARRAY(
        (SELECT d.id FROM jobs d
        WHERE d.share_id = @share::int AND d.shape_id = @shape::int AND d.state = 'ready' AND d.displaced
        ORDER BY d.place, d.id
        LIMIT @n::int)
        UNION ALL
        (SELECT i.id
        FROM (
            SELECT place, low, high FROM ready_ranges WHERE share_id = @share::int AND shape_id = @shape::int ORDER BY place, high LIMIT 1000000000
        ) r
        CROSS JOIN LATERAL (
            SELECT d.id FROM jobs d
            WHERE d.id >= r.low AND d.id <= r.high AND d.share_id = @share::int AND d.shape_id = @shape::int AND d.place = r.place
                AND d.state = 'ready' AND d.displaced IS NOT TRUE
            ORDER BY d.id
            LIMIT @n::int
        ) i
        LIMIT @n::int)
        LIMIT @n::int))
    AND j.share_id = @share::int AND j.shape_id = @shape::int AND j.state = 'ready'
ORDER BY j.id
FOR UPDATE OF j SKIP LOCKED;
