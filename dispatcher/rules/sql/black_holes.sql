-- Queues that get a job now and then only.
SELECT queue_id, since, ends, fails, good, bad_at, probe_s FROM black_holes ORDER BY queue_id;
