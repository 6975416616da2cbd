-- Limits that some daemon went without lately, and those that this one asks about.
SELECT l.kind, l.ref, l.pool, l.free, coalesce(l.wanted_at > now() - interval '2 seconds', false) AS wanted
FROM limits l
WHERE l.wanted_at > now() - interval '2 seconds'
    OR (l.kind, l.ref, l.pool) IN (SELECT * FROM unnest(@kinds::text[], @refs::text[], @pools::text[]));
