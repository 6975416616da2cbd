-- Those of some tasks whose states may follow from their counts, locked in the order of their ids, as everybody does: the ones that have
-- not begun, and the ones of which no job is live as of folded. All others stay as they are, whatever is said of them meanwhile.
SELECT t.id
FROM tasks t JOIN task_counts c ON c.task = t.id
WHERE t.id = ANY (@tasks::bigint[]) AND t.ended_at IS NULL
    AND (t.started_at IS NULL OR t.state = 'ready' OR c.ready + c.paused + c.held + c.waiting = 0)
ORDER BY t.id
FOR UPDATE OF t;
