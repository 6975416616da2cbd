-- The version of the site that was in force at a time.
SELECT coalesce(max(version), 0) AS version FROM site_versions WHERE applied_at <= @at::timestamptz;
