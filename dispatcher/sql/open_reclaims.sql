-- Open orders; due are those whose pilots have had their grace since they were told.
SELECT r.job_id, r.attempt, r.nonce, r.pool, r.claimer_id, l.share_id AS victim_id, l.units, l.queue_id, l.shape_id, l.cores,
    coalesce(l.told_at + make_interval(secs => l.reclaim_grace_s + @slack_s::float8) <= now(), false) AS due
FROM reclaims r
JOIN leases l ON l.job_id = r.job_id AND l.nonce = r.nonce
WHERE r.closed_at IS NULL
ORDER BY r.job_id
LIMIT @n::int;
