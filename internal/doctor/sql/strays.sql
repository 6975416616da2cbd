-- Rows in default partitions, up to a hundred thousand of each: they came while their day could not be made.
SELECT 'attempts' AS name, (SELECT count(*) FROM (SELECT FROM attempts_rest LIMIT 100000) x) AS n
UNION ALL
SELECT 'ended_jobs', (SELECT count(*) FROM (SELECT FROM ended_jobs_rest LIMIT 100000) x)
UNION ALL
SELECT 'share_samples', (SELECT count(*) FROM (SELECT FROM share_samples_rest LIMIT 100000) x);
