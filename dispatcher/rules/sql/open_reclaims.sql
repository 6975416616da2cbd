-- Open orders; due are those whose pilots were told for sure and have had their grace since.
SELECT r.job_id, r.attempt, r.nonce, r.pool, r.claimer_id, l.share AS victim_id, l.units, l.queue AS queue_id, l.shape AS shape_id, 0::bigint AS cores,
    r.ordered_at + make_interval(secs => r.grace_s + @told_s::float8) <= now() AS due
FROM reclaims r
JOIN held l ON l.job = r.job_id AND l.nonce = r.nonce
WHERE r.closed_at IS NULL
ORDER BY r.job_id
LIMIT @n::int;
