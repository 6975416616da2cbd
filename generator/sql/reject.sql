-- Keeps a task that cannot be: over from the start, without jobs and without a share, and never committed.
INSERT INTO tasks (name, user_name, state, reason, attributes, spec, parameters, ended_at)
VALUES (@name::text, @user::text, 'aborted', @reason::text, @attributes::jsonb, @spec::json, @parameters::json, now())
RETURNING id;
