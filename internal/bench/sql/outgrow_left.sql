-- Jobs that have ended, how many different ones, and leases.
SELECT (SELECT count(*) FROM ended_jobs) AS ended, (SELECT count(DISTINCT id) FROM ended_jobs) AS jobs, (SELECT count(*) FROM leases) AS leases;
