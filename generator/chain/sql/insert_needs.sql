-- What a new task needs.
INSERT INTO task_needs (task_id, place, needs_id, condition, per_input, outputs)
SELECT @task::bigint, n.place - 1, n.needs_id, n.condition, n.per_input, nullif(n.outputs, '')
FROM unnest(@needs::bigint[], @conditions::text[], @per_inputs::boolean[], @outputs::text[])
    WITH ORDINALITY AS n (needs_id, condition, per_input, outputs, place);
