-- A verb: from the state that it was allowed in to the next one.
UPDATE tasks SET state = @after::text, resume_state = @resume_state::text, sweep = @sweep::boolean,
    reason = CASE WHEN @reason::text = '' THEN reason ELSE @reason::text END,
    ended_at = CASE WHEN @after::text = 'aborted' THEN now() END
WHERE id = @task::bigint AND state = @before::text;
