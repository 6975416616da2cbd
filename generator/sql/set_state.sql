-- A verb: each task from the state that it was allowed in to the next one. What limits promised a task that has to wait for its
-- turn again is nobody's. One that waited for them when it was paused comes back to what it would have been let in to.
UPDATE tasks t SET state = v.after,
    resume_state = coalesce(v.resume_state, CASE WHEN v.after = 'paused' THEN CASE WHEN t.started_at IS NULL THEN 'ready' ELSE 'running' END END),
    limited = CASE WHEN v.after = 'paused' THEN NULL ELSE t.limited END,
    quota = CASE WHEN v.after = 'throttled' THEN t.n_generated ELSE t.quota END,
    reason = CASE WHEN v.reason <> '' THEN v.reason WHEN t.state = 'throttled' THEN '' ELSE t.reason END,
    ended_at = CASE WHEN v.after = 'aborted' THEN now() END
FROM unnest(@tasks::bigint[], @befores::text[], @afters::text[], @resume_states::text[], @reasons::text[])
    AS v (task, before, after, resume_state, reason)
WHERE t.id = v.task AND t.state = v.before;
