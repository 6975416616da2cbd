-- Queues that work again.
DELETE FROM black_holes WHERE queue_id = ANY (@queues::int[]);
