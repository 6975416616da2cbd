-- Files for later in the order in which they take effect, and the version in force: those that wait and those that
-- failed within 30 days, or the newest of all.
SELECT l.id, l.effective_at, l.state, l.stored_at, l.stored_by, l.note, l.file, l.moves, l.base_version,
       coalesce(l.version, 0) AS version, l.error, l.ended_at, l.ended_by,
       (SELECT coalesce(max(v.version), 0) FROM site_versions AS v) AS in_force
FROM site_later AS l
WHERE @all::boolean OR l.state = 'waiting' OR l.state = 'failed' AND l.ended_at > now() - interval '30 days'
ORDER BY l.effective_at, l.id
LIMIT 1000
