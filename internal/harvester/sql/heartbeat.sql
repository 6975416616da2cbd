-- Notes that a Harvester lives. What it says of itself is laid over what it said before.
INSERT INTO harvesters AS h (id, host, user_name, metadata)
VALUES (@id::text, @host::text, @user::text, @metadata::jsonb)
ON CONFLICT (id) DO UPDATE SET host = excluded.host, user_name = excluded.user_name, metadata = h.metadata || excluded.metadata,
    seen_at = now();
