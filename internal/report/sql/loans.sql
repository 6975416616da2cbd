-- Who lent and borrowed owned units: on the average of the samples since then, and by the newest one. A share that did neither has no row.
WITH past AS (
    SELECT share_id, pool, avg(lent_units) AS lent, avg(borrowed_units) AS borrowed
    FROM report.loans
    WHERE at >= @since::timestamptz
    GROUP BY share_id, pool
)
SELECT n.share, n.pool, n.deserved_units, n.held_units, n.lent_units, n.borrowed_units, round(p.lent, 3) AS mean_lent_units, round(p.borrowed, 3) AS mean_borrowed_units
FROM report.loans_now n
JOIN past p USING (share_id, pool)
WHERE p.lent > 0 OR p.borrowed > 0 OR n.lent_units > 0 OR n.borrowed_units > 0
ORDER BY n.share, n.pool;
