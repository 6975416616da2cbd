-- The next live jobs of the walk, leased ones too: they may come back.
SELECT j.id, j.share_id, j.place, j.priority, j.created_at FROM jobs j WHERE j.id > @after::bigint ORDER BY j.id LIMIT @n::int;
