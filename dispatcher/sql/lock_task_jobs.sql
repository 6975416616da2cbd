-- Locks the next live jobs of a task, from an id on, that are not charged to a share yet, of one share only or of any (0); those with
-- a lease only where they are to move. It runs behind the barrier: whoever reads on from an id does not pass over all that went before.
SELECT j.id FROM jobs j
WHERE j.task_id = @task::bigint AND j.id >= @from::bigint AND j.share_id <> @to::int AND (@only::int = 0 OR j.share_id = @only::int)
    AND (@running::boolean OR NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id))
ORDER BY j.id
LIMIT @limit::int
FOR UPDATE OF j;
