-- Adds inputs to the lots of a task, making those that are new. Locations come joined by line breaks, which no name has.
INSERT INTO lots (task_id, lot, locations, n, bytes, events)
SELECT @task::bigint, a.lot, CASE WHEN a.locations = '' THEN '{}' ELSE string_to_array(a.locations, E'\n') END, a.n, a.bytes, a.events
FROM unnest(@lots::int[], @locations::text[], @ns::bigint[], @bytes::bigint[], @events::bigint[]) AS a (lot, locations, n, bytes, events)
ON CONFLICT (task_id, lot) DO UPDATE SET n = lots.n + excluded.n, bytes = lots.bytes + excluded.bytes, events = lots.events + excluded.events;
