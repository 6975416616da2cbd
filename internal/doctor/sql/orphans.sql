-- Leases of jobs that are not there. It reads all leases.
SELECT count(*) FROM leases l WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.id = l.job_id);
