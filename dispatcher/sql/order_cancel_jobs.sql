-- Leaves a cancel order at the leases of these jobs.
UPDATE leases SET cancel_reason = @reason::text, cancel_grace_s = @grace_s::int
WHERE job_id = ANY (@ids::bigint[]) AND cancel_reason IS NULL;
