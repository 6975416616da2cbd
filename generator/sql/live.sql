-- Tasks that are not over, by share; one that asked for another share than its jobs go to counts in both.
SELECT s.share_id, count(*)::bigint AS tasks
FROM tasks t CROSS JOIN LATERAL (SELECT t.share_id UNION SELECT t.own_share_id) s (share_id)
WHERE t.ended_at IS NULL AND s.share_id IS NOT NULL
GROUP BY s.share_id;
