-- Whether a job with an id of a range is live: it has a lease, or is in a range of jobs without one.
SELECT EXISTS (SELECT FROM held h WHERE h.job BETWEEN @low::bigint AND @high::bigint)
    OR coalesce((SELECT r.low <= @high::bigint FROM idle_ranges r WHERE r.high >= @low::bigint ORDER BY r.high LIMIT 1), false);
