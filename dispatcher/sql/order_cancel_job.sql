-- Leaves a cancel order at the lease of one job.
UPDATE leases SET cancel_reason = @reason::text, cancel_grace_s = @grace_s::int
WHERE job_id = @job::bigint AND cancel_reason IS NULL;
