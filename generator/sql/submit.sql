-- Makes tasks, by rising id in the order in which they are given. One whose idempotency key is taken does not come back; a
-- transaction that is about to take the same key is waited for.
WITH given AS MATERIALIZED (
    SELECT nextval('tasks_id_seq') AS id, g.*
    FROM json_to_recordset(@tasks::json) AS g (place int, name text, user_name text, state text, reason text, share_id int,
        own_share_id int, shape_id int, priority int, max_attempts int, attributes jsonb, spec text, tagged_by jsonb,
        site_version bigint, split text, per_job bigint, n_events bigint, n_inputs bigint, n_pieces bigint, n_jobs bigint,
        idempotency_key text, body_hash text, parameters text, lots int, scouts int, max_running int, chain text, n_released bigint)
), made AS (
    INSERT INTO tasks (id, name, user_name, state, reason, share_id, own_share_id, shape_id, priority, max_attempts, attributes,
        spec, tagged_by, site_version, split, per_job, n_events, n_inputs, n_pieces, n_jobs, idempotency_key, body_hash,
        parameters, lots, scouts, max_running, quota, chain, n_released, committed_at)
    OVERRIDING SYSTEM VALUE
    SELECT id, name, user_name, state, reason, share_id, own_share_id, shape_id, priority, max_attempts, attributes,
        spec::json, tagged_by, site_version, split, per_job, n_events, n_inputs, n_pieces, least(n_jobs, scouts), idempotency_key,
        decode(body_hash, 'hex'), parameters::json, lots, scouts, max_running, CASE WHEN state = 'throttled' THEN 0 ELSE max_running END,
        chain, n_released, CASE WHEN state <> 'submitting' THEN now() END
    FROM given ORDER BY id
    ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id
)
SELECT g.place, g.id FROM given g JOIN made m ON m.id = g.id;
