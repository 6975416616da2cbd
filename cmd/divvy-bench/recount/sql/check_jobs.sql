-- All jobs that were ever made, and where they are, in one snapshot. coming: they are on their way into the log; both: live twice, or live
-- and over; orphans: leases of jobs that are not there; stray: jobs without a lease that are not there, or in no block.
WITH idle AS (
    SELECT low, high FROM idle_ranges
), ended AS (
    SELECT job FROM history WHERE state IN ('f', 'x', 'c')
)
SELECT (SELECT coalesce(sum(n_generated), 0)::bigint FROM tasks) AS made,
    (SELECT count(*) FROM jobs) AS rows,
    (SELECT coalesce(sum((e -> 'q' ->> 'high')::bigint - (e -> 'q' ->> 'low')::bigint + 1), 0)::bigint
        FROM outbox o CROSS JOIN LATERAL jsonb_array_elements(o.entries) AS e
        WHERE o.refused IS NULL AND (e -> 'q' ->> 'attempt')::int = 1) AS coming,
    (SELECT coalesce(sum(high - low + 1), 0)::bigint FROM idle) + (SELECT count(*) FROM held) AS live,
    (SELECT count(*) FROM held) AS held,
    (SELECT count(*) FROM ended) + (SELECT coalesce(sum(high - low + 1), 0)::bigint FROM over_ranges) AS ended,
    (SELECT count(*) FROM (SELECT job FROM ended GROUP BY job HAVING count(*) > 1) d) AS ended_twice,
    (SELECT count(*) FROM held h JOIN idle r ON h.job BETWEEN r.low AND r.high) + (SELECT count(*) FROM held h JOIN ended e ON e.job = h.job)
        + (SELECT count(*) FROM idle r JOIN history e ON e.job BETWEEN r.low AND r.high AND e.state IN ('f', 'x', 'c')) AS both,
    (SELECT count(*) FROM held h WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.id = h.job)) AS orphans,
    (SELECT coalesce(sum(high - low + 1), 0)::bigint FROM idle) - (SELECT count(*) FROM idle r JOIN jobs j ON j.id BETWEEN r.low AND r.high)
        + (SELECT count(*) FROM idle r WHERE NOT EXISTS (
            SELECT FROM (SELECT b.high FROM job_blocks b WHERE b.low <= r.low ORDER BY b.low DESC LIMIT 1) block WHERE block.high >= r.low)) AS stray;
