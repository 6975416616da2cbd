-- Locks the next live jobs of a task that are not charged to a share yet; those with a lease only where they are to move.
SELECT j.id FROM jobs j
WHERE j.task_id = @task::bigint AND j.share_id <> @to::int
    AND (@running::boolean OR NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id))
ORDER BY j.id
LIMIT @limit::int
FOR UPDATE OF j;
