-- Queues that fail all, and that the asking daemon may give a job now: one daemon has the turn, once in every_s.
UPDATE black_holes SET probed_at = now()
WHERE queue_id = ANY (@queues::int[]) AND probed_at < now() - make_interval(secs => @every_s::float8)
RETURNING queue_id
