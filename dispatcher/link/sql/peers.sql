-- The daemons that are open.
SELECT id, address, secret FROM daemons
WHERE closed_at IS NULL AND seen_at > now() - make_interval(secs => @silent_s::float8)
ORDER BY id
