-- Jobs that have ended, how many different ones, and leases.
SELECT count(*) AS ended, count(DISTINCT job) AS jobs, (SELECT count(*) FROM held) AS leases FROM history WHERE state IN ('f', 'x', 'c');
