-- Daemons that are closed go a day later, when the log has no batch of theirs any more.
DELETE FROM daemons d
WHERE d.closed_at < least(now() - interval '1 day', (SELECT b.at FROM batches b ORDER BY b.seq LIMIT 1));
