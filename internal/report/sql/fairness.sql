-- How fair each hour was.
SELECT hour, pool, shares, jain, round(largest_deviation_units::numeric, 3) AS largest_deviation_units, furthest_share,
    round(missed_unit_seconds::numeric) AS missed_unit_seconds, starved_shares
FROM report.fairness
WHERE hour >= date_trunc('hour', @since::timestamptz, 'UTC')
ORDER BY hour, pool;
