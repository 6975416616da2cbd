-- Ranges that begin elsewhere. No index has low.
UPDATE idle_ranges i SET low = r.low
FROM unnest(@highs::bigint[], @lows::bigint[]) AS r (high, low)
WHERE i.high = ANY (@highs::bigint[]) AND i.high = r.high;
