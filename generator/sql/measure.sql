-- What the jobs of a task that finished took. CPU seconds are those of a core of power 1; output is what they said of the sizes
-- of what they made. All of it is bounded: what a pilot says must not overflow.
SELECT greatest(coalesce(e.n_events, 0), coalesce(cardinality(e.inputs), 0), 1)::bigint AS events,
    (least(a.cpu_s, 1e9) * a.units / (1000.0 * a.cores))::float8 AS cpu_s, (a.units / 1000.0)::float8 AS power, a.memory_mb,
    extract(epoch FROM a.ended_at - coalesce(a.started_at, a.claimed_at))::float8 AS wall_s,
    coalesce((SELECT sum(least(greatest((o.value ->> 'size')::numeric, 0), 1e15)::float8) FROM jsonb_each(CASE WHEN jsonb_typeof(a.outputs) = 'object' THEN a.outputs END) o
        WHERE jsonb_typeof(o.value) = 'object' AND jsonb_typeof(o.value -> 'size') = 'number'), 0)::float8 AS output_bytes
FROM ended_jobs e
JOIN attempts a ON a.job_id = e.id AND a.attempt = e.attempt AND a.outcome = 'finished'
WHERE e.task_id = @task::bigint AND e.state = 'finished'
ORDER BY e.id LIMIT @limit::int;
