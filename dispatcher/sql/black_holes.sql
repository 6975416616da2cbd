-- Queues that get a job from time to time only.
SELECT queue_id, since, ends, fails, good FROM black_holes;
