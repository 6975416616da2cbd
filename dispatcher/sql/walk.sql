-- Where the walk is, if there is one and nobody else is at it, and the aging of all shares.
SELECT w.after, (SELECT coalesce(jsonb_object_agg(s.id, s.plan->'aging'), '{}') FROM shares s WHERE s.plan ? 'aging') AS agings
FROM place_walk w
WHERE w.after IS NOT NULL
FOR UPDATE OF w SKIP LOCKED;
