-- How a share stood in the last so many seconds: the first sample of each step. Steps begin at full multiples of their
-- length, so that two looks choose the same samples.
SELECT s.at, s.target, s.held / 1000.0::float8 AS held, s.ready
FROM generate_series(
    floor((extract(epoch FROM now()) - @span_s::float8) / @step_s::float8)::bigint + 1,
    floor(extract(epoch FROM now()) / @step_s::float8)::bigint) AS step (n)
CROSS JOIN LATERAL (
    SELECT h.at, h.target, h.held, h.ready
    FROM share_samples h
    WHERE h.share_id = @share::int AND h.pool = @pool::text
      AND h.at >= to_timestamp(step.n * @step_s::float8) AND h.at < to_timestamp((step.n + 1) * @step_s::float8)
    ORDER BY h.at
    LIMIT 1
) s
ORDER BY s.at;
