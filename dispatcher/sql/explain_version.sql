-- The site version that was in force at a time.
SELECT coalesce(max(version), 0) FROM site_versions WHERE applied_at <= @at::timestamptz;
