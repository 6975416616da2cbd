-- What limits make of tasks: how many jobs they may come to, and whether they may make any. Only where they are as they were
-- when that was decided. Of each it is said whether it was let in and has made jobs, which the log may have as paused.
UPDATE tasks t SET quota = r.quota, limited = nullif(r.limited, ''),
    reason = CASE WHEN r.throttled THEN r.limited WHEN t.state = 'throttled' THEN '' ELSE t.reason END,
    state = CASE WHEN r.throttled AND t.state <> 'throttled' THEN 'throttled'
        WHEN NOT r.throttled AND t.state = 'throttled' THEN
            coalesce(t.resume_state, CASE WHEN t.started_at IS NULL THEN 'ready' ELSE 'running' END)
        ELSE t.state END,
    resume_state = CASE WHEN NOT r.throttled THEN NULL WHEN t.state = 'throttled' THEN t.resume_state ELSE t.state END
FROM unnest(@tasks::bigint[], @befores::text[], @quotas::bigint[], @limiteds::text[], @throttleds::boolean[])
    AS r (id, before, quota, limited, throttled)
WHERE t.id = r.id AND t.state = r.before
RETURNING t.id, r.before = 'throttled' AND NOT r.throttled AND t.n_generated > 0 AS resumes;
