-- Ten candidates of a site: by the rank of their leaf, then priority, then age.
SELECT id FROM panda_jobs
WHERE status = 'activated' AND site = $1
ORDER BY array_position($2::int[], share), priority DESC, id
LIMIT 10;
