-- Makes a task, unless its idempotency key is taken: then no row comes back. A transaction that is about to take
-- the same key is waited for.
INSERT INTO tasks (name, user_name, state, reason, share_id, own_share_id, shape_id, priority, max_attempts, attributes, spec,
    tagged_by, site_version, split, per_job, n_events, n_inputs, n_pieces, n_jobs, idempotency_key, body_hash, parameters, committed_at)
VALUES (@name::text, @user::text, @state::text, @reason::text, @share::int, @own_share::int, @shape::int, @priority::int,
    @max_attempts::int, @attributes::jsonb, @spec::json, @tagged_by::jsonb, @site_version::bigint, @split::text,
    @per_job::bigint, @n_events::bigint, @n_inputs::bigint, @n_pieces::bigint, @n_pieces::bigint, @key::text,
    @body_hash::bytea, @parameters::json, CASE WHEN @state::text <> 'submitting' THEN now() END)
ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
RETURNING id;
