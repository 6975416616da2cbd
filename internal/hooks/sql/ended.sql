-- Takes tasks that have ended, of which messages are made in this transaction. One that was deleted meanwhile is nobody's news.
WITH taken AS (
    DELETE FROM webhook_tasks WHERE ctid = ANY (ARRAY(SELECT ctid FROM webhook_tasks ORDER BY at LIMIT @most::int FOR UPDATE SKIP LOCKED))
    RETURNING task, state, at
)
SELECT e.task, e.state, e.at, t.name, t.user_name AS user, coalesce(s.path, '') AS share, t.reason
FROM taken e JOIN tasks t ON t.id = e.task LEFT JOIN shares s ON s.id = t.share_id
ORDER BY e.at, e.task
