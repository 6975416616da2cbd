-- Writes down what shares have missed. Rows that say so already stay: a remembrance of nothing does not fade.
INSERT INTO share_memory AS m (pool, share_id, lag, remembered, at)
SELECT s.pool, s.share_id, s.lag, s.remembered, @at::timestamptz
FROM unnest(@pools::text[], @shares::int[], @lags::float8[], @remembered::float8[]) AS s (pool, share_id, lag, remembered)
ON CONFLICT (pool, share_id) DO UPDATE SET lag = excluded.lag, remembered = excluded.remembered, at = excluded.at
WHERE (m.lag, m.remembered) IS DISTINCT FROM (excluded.lag, excluded.remembered);
