-- Adds to the counters what a recount found that they lack. The lock of the fold is held since before it counted.
INSERT INTO counters AS c (share_id, shape_id, queue_id, waiting, ready, held, held_units)
SELECT * FROM unnest(@shares::int[], @shapes::int[], @queues::int[], @waiting::bigint[], @ready::bigint[], @held::bigint[], @held_units::bigint[])
ON CONFLICT (share_id, shape_id, queue_id) DO UPDATE SET waiting = c.waiting + excluded.waiting, ready = c.ready + excluded.ready,
    held = c.held + excluded.held, held_units = c.held_units + excluded.held_units;
