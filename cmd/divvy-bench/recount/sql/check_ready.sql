-- Sums of ready jobs that differ from the jobs without a lease.
SELECT count(*) FROM (
    SELECT FROM (
        SELECT share, shape, ready FROM share_counts
        UNION ALL
        SELECT share, shape, low - high - 1 FROM idle_ranges WHERE state = 'r'
    ) x
    GROUP BY share, shape
    HAVING sum(ready) <> 0
) wrong;
