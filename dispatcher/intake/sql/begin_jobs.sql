-- The first of the ids of new jobs, and what these follow from: the time, the aging of their shares and the users of their tasks. No row
-- when a share or a shape does not exist.
SELECT divvy_take_ids(@n::bigint), now(),
    (SELECT jsonb_object_agg(s.id, s.plan->'aging') FROM shares s WHERE s.id = ANY ((SELECT @shares::int[])::int[]) AND s.plan ? 'aging'),
    (SELECT jsonb_object_agg(t.id, t.user_name) FROM tasks t WHERE t.id = ANY ((SELECT @tasks::bigint[])::bigint[]))
WHERE NOT EXISTS (SELECT FROM unnest((SELECT @shares::int[])) AS w (id) WHERE NOT EXISTS (SELECT FROM shares s WHERE s.id = w.id))
    AND NOT EXISTS (SELECT FROM unnest((SELECT @shapes::int[])) AS w (id) WHERE NOT EXISTS (SELECT FROM shapes s WHERE s.id = w.id));
