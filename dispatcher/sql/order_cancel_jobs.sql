-- Leaves a cancel order at the leases of these jobs, and counts those that had none.
WITH ordered AS (
    UPDATE leases SET cancel_reason = @reason::text, cancel_grace_s = @grace_s::int
    WHERE job_id = ANY (@ids::bigint[]) AND cancel_reason IS NULL
    RETURNING task_id
)
SELECT task_id, count(*)::int AS n FROM ordered GROUP BY task_id;
