-- Adds to the jobs of shares.
INSERT INTO share_counts AS s (share, shape, queue, ready, held, held_units)
SELECT share, shape, queue, ready, held, held_units
FROM unnest(@share::int[], @shape::int[], @queue::int[], @ready::bigint[], @held::bigint[], @units::bigint[])
    AS c (share, shape, queue, ready, held, held_units)
ON CONFLICT (share, shape, queue) DO UPDATE SET ready = s.ready + excluded.ready, held = s.held + excluded.held,
    held_units = s.held_units + excluded.held_units;
