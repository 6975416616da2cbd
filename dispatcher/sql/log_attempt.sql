-- The attempts of a number that run or ended lately.
SELECT h.nonce, h.granted_at FROM held h WHERE h.job = @job::bigint AND h.attempt = @attempt::int
UNION ALL
SELECT h.nonce, h.granted_at FROM history h
WHERE h.job = @job::bigint AND h.attempt = @attempt::int AND h.ended_at > now() - make_interval(secs => @late_s::float8);
