-- How far lots of locked tasks are cut, and the shapes of the pieces to come.
UPDATE lots l SET cut = w.cut, cut_bytes = w.bytes, cut_events = w.events, skip = w.skip, pieces_left = w.pieces_left,
    shape_ids = w.shape_ids::int[]
FROM unnest(@tasks::bigint[], @lots::int[], @cuts::bigint[], @bytes::bigint[], @events::bigint[], @skips::bigint[], @lefts::bigint[],
    @shapes::text[]) AS w (task_id, lot, cut, bytes, events, skip, pieces_left, shape_ids)
WHERE l.task_id = w.task_id AND l.lot = w.lot;
