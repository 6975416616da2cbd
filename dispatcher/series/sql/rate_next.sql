-- The next hour of samples that is over, for two minutes already, so that all of its samples are there; no row: none is.
SELECT h.hour
FROM (SELECT coalesce(max(f.hour) + interval '1 hour', '-infinity') AS next FROM fairness_hours f) AS done
CROSS JOIN LATERAL (
    SELECT date_trunc('hour', min(s.at), 'UTC') AS hour FROM share_samples s
    WHERE s.at >= done.next AND done.next + interval '1 hour 2 minutes' <= now() -- else nothing is read
) h
WHERE h.hour + interval '1 hour 2 minutes' <= now();
