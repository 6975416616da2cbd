-- What limits make of tasks: how many jobs they may come to, and whether they may make any. Only where they are as they were
-- when that was decided. Those that may go on get their held jobs back.
UPDATE tasks t SET quota = r.quota, limited = nullif(r.limited, ''),
    reason = CASE WHEN r.throttled THEN r.limited WHEN t.state = 'throttled' THEN '' ELSE t.reason END,
    state = CASE WHEN r.throttled AND t.state <> 'throttled' THEN 'throttled'
        WHEN NOT r.throttled AND t.state = 'throttled' THEN
            coalesce(t.resume_state, CASE WHEN t.started_at IS NULL THEN 'ready' ELSE 'running' END)
        ELSE t.state END,
    resume_state = CASE WHEN NOT r.throttled THEN NULL WHEN t.state = 'throttled' THEN t.resume_state ELSE t.state END,
    sweep = t.sweep OR NOT r.throttled AND t.state = 'throttled' AND t.n_generated > t.n_finished + t.n_failed + t.n_cancelled,
    sweep_after = CASE WHEN t.state = 'throttled' THEN NULL ELSE t.sweep_after END
FROM unnest(@tasks::bigint[], @befores::text[], @quotas::bigint[], @limiteds::text[], @throttleds::boolean[])
    AS r (id, before, quota, limited, throttled)
WHERE t.id = r.id AND t.state = r.before
RETURNING t.id;
