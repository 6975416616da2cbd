-- This daemon lives, whatever others took it for. Those that were silent for too long are closed.
WITH silent AS (
    UPDATE daemons SET closed_at = now()
    WHERE closed_at IS NULL AND id <> @id::bigint AND seen_at < now() - make_interval(secs => @silent_s::float8)
    RETURNING id
), me AS (
    INSERT INTO daemons (id, host, pid, started_at, address, secret, version) OVERRIDING SYSTEM VALUE
    VALUES (@id::bigint, @host::text, @pid::int, @started_at::timestamptz, @address::text, @secret::text, @version::text)
    ON CONFLICT (id) DO UPDATE SET seen_at = now(), closed_at = NULL
)
SELECT id FROM silent ORDER BY id
