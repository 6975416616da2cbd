-- The aging of all shares that have one.
SELECT coalesce(jsonb_object_agg(s.id, s.plan->'aging'), '{}') FROM shares s WHERE s.plan ? 'aging';
