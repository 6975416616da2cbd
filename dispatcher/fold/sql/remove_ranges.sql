-- Ranges that are no more, or end elsewhere.
DELETE FROM idle_ranges WHERE high = ANY (@ids::bigint[]);
