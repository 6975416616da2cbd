-- The file for later that is due first. The site lock keeps other daemons off, the row lock whoever cancels it.
SELECT l.id, l.effective_at, l.stored_by, l.note, l.file, l.source, l.moves, l.base_version
FROM site_later AS l
WHERE l.state = 'waiting' AND l.effective_at <= now()
ORDER BY l.effective_at, l.id
LIMIT 1
FOR UPDATE
