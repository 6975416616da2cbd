-- The checkpoint.
SELECT share_id, shape_id, queue_id, ready, held, held_units FROM counters;
