-- This daemon lives, and has pilots at these queues. Returns those that were silent for too long.
WITH me AS (
    UPDATE daemons SET seen_at = now(), pilot_queues = @queues::int[] WHERE id = @daemon::bigint AND closed_at IS NULL
)
SELECT id FROM daemons
WHERE closed_at IS NULL AND id <> @daemon::bigint AND seen_at < now() - make_interval(secs => @ttl_s::float8);
