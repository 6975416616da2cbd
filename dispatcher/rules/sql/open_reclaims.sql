-- Open orders; due are those whose pilots were told for sure and have had their grace since. The tables may not have the lease yet.
SELECT r.job_id AS job, r.attempt, r.nonce, r.pool, r.claimer_id, r.victim_id, r.units, coalesce(l.queue, 0) AS queue_id,
    coalesce(l.shape, 0) AS shape_id, 0::bigint AS cores, r.ordered_at + make_interval(secs => r.grace_s + @told_s::float8) <= now() AS due
FROM reclaims r
LEFT JOIN held l ON l.job = r.job_id AND l.nonce = r.nonce
WHERE r.closed_at IS NULL
ORDER BY r.job_id
LIMIT @n::int;
