-- Those of some jobs that have a lease, and those that have none and are not over, as of folded.
SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM held h WHERE h.job = j.id)) AS leased,
    count(*) FILTER (WHERE EXISTS (
        SELECT FROM (SELECT r.low FROM idle_ranges r WHERE r.high >= j.id ORDER BY r.high LIMIT 1) r WHERE r.low <= j.id)) AS idle
FROM unnest(@jobs::bigint[]) AS j (id);
