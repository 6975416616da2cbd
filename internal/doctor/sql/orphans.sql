-- Leases of jobs that are not there. It reads all leases.
SELECT count(*) FROM held h WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.id = h.job);
