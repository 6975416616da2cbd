-- Ranges that begin elsewhere. No index has low.
UPDATE idle_ranges i SET low = r.low
FROM unnest(@high::bigint[], @low::bigint[]) AS r (high, low)
WHERE i.high = ANY (@high::bigint[]) AND i.high = r.high;
