-- What the jobs of a task that finished took. CPU seconds are those of a core of power 1; output is what they said of the sizes
-- of what they made. All of it is bounded: what a pilot says must not overflow. Read block by block, as in read_ended.
SELECT greatest(coalesce(j.n_events, 0), coalesce(cardinality(j.inputs), 0), 1)::bigint AS events,
    (least(a.cpu_ms / 1000.0, 1e9) * a.units / (1000.0 * s.cores))::float8 AS cpu_s, (a.units / 1000.0)::float8 AS power, a.memory_mb::bigint AS memory_mb,
    (extract(epoch FROM a.ended_at - a.granted_at) - greatest(a.start_delay_ms, 0) / 1000.0)::float8 AS wall_s,
    coalesce((SELECT sum(least(greatest((o.value ->> 'size')::numeric, 0), 1e15)::float8) FROM jsonb_each(CASE WHEN jsonb_typeof(x.outputs) = 'object' THEN x.outputs END) o
        WHERE jsonb_typeof(o.value) = 'object' AND jsonb_typeof(o.value -> 'size') = 'number'), 0)::float8 AS output_bytes
FROM (
    SELECT l.*
    FROM (SELECT low, high, made_at FROM job_blocks WHERE task_id = @task::bigint ORDER BY low LIMIT 1000000000) b
    CROSS JOIN LATERAL (
        SELECT h.job, h.attempt, h.shape, h.units, h.cpu_ms, h.memory_mb, h.granted_at, h.ended_at, h.start_delay_ms
        FROM history h
        WHERE h.job >= b.low AND h.job <= b.high AND h.state = 'f' AND h.ended_at >= b.made_at - interval '1 day'
        ORDER BY h.job LIMIT @limit::int
    ) l
    LIMIT @limit::int
) a
JOIN jobs j ON j.id = a.job
JOIN shapes s ON s.id = a.shape
LEFT JOIN attempt_texts x ON x.job_id = a.job AND x.attempt = a.attempt AND x.ended_on = (a.ended_at AT TIME ZONE 'UTC')::date
ORDER BY a.job;
