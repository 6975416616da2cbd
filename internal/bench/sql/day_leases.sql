-- The attempts that are not over.
SELECT job_id, attempt FROM leases;
