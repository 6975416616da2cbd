-- The hundred nodes that wasted most, by whole days.
SELECT node, queue, sum(jobs)::bigint AS jobs, sum(failures)::bigint AS failures, sum(lost)::bigint AS lost,
    round(sum(wasted_slot_seconds) / 3600, 2) AS wasted_slot_hours
FROM report.node_usage
WHERE day >= (@since::timestamptz AT TIME ZONE 'UTC')::date
GROUP BY node, queue
HAVING sum(failures + lost) > 0
ORDER BY sum(wasted_slot_seconds) DESC, node, queue
LIMIT 100;
