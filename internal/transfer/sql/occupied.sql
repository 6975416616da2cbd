-- What a database has that one which was just made does not have; the first of these things.
SELECT what
FROM (VALUES
    (1, 'a site', EXISTS (SELECT FROM site_versions) OR EXISTS (SELECT FROM site_later)),
    (2, 'tokens', EXISTS (SELECT FROM tokens)),
    (3, 'tasks', EXISTS (SELECT FROM tasks)),
    (4, 'a history of usage', EXISTS (SELECT FROM hour_usage) OR EXISTS (SELECT FROM day_usage)),
    (5, 'a daemon that was not stopped in order', EXISTS (SELECT FROM daemons WHERE closed_at IS NULL))
) AS found (nth, what, there)
WHERE there
ORDER BY nth
LIMIT 1;
