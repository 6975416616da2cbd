-- Locks jobs of a share and a shape, ready or leased, with whose they are where the share gives jobs by fair turn among users.
-- Nobody is waited for: who is at a job now may have changed it, and the next look says.
SELECT j.id, j.task_id, CASE WHEN s.plan->>'within' = 'fair_user' THEN t.user_name END AS user_name
FROM jobs j
JOIN shares s ON s.id = j.share_id
LEFT JOIN tasks t ON t.id = j.task_id
WHERE j.share_id = @share::int AND j.shape_id = @shape::int AND j.state = 'ready'
ORDER BY j.place, j.id
LIMIT @n::int
FOR UPDATE OF j SKIP LOCKED;
