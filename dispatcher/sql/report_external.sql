-- Notes what the server of a resource says.
INSERT INTO resource_external AS e (name, queue_id, total, used, settled, reported_at)
VALUES (@name::text, @queue::int, @total::bigint, @used::bigint, @settled::bigint, clock_timestamp())
ON CONFLICT (name, queue_id) DO UPDATE
    SET total = excluded.total, used = excluded.used, settled = excluded.settled, reported_at = excluded.reported_at;
