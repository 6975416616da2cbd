-- The next hour of samples that is over, for two minutes already, so that all of its samples are there; NULL: none is.
SELECT h.hour
FROM usage_state u
CROSS JOIN LATERAL (
    SELECT date_trunc('hour', min(s.at), 'UTC') AS hour FROM share_samples s WHERE s.at >= coalesce(u.rated, '-infinity')
        AND coalesce(u.rated, '-infinity') + interval '1 hour 2 minutes' <= now() -- else nothing is read
) h
WHERE h.hour + interval '1 hour 2 minutes' <= now();
