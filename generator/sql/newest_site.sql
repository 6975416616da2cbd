-- The site version in force.
SELECT coalesce(max(version), 0) AS version FROM site_versions;
