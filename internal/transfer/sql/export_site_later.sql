-- Site files that take effect later, and those that have.
SELECT row_to_json(r)::text FROM (
    SELECT 'site_later' AS kind, id, effective_at, stored_at, stored_by, note, file, source, moves, base_version, state, version, error, ended_at, ended_by
    FROM site_later
    ORDER BY id
) r;
