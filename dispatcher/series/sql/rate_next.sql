-- The next hour that is over, for two minutes already, so that all of its samples are there; the first one is that of the oldest sample.
-- No row: none is, or another daemon is at it.
SELECT h.hour
FROM (SELECT r.at FROM rated r FOR UPDATE SKIP LOCKED) AS done
CROSS JOIN LATERAL (
    SELECT CASE WHEN isfinite(done.at) THEN done.at ELSE (SELECT date_trunc('hour', min(s.at), 'UTC') FROM share_samples s) END AS hour
) h
WHERE h.hour + interval '1 hour 2 minutes' <= now();
