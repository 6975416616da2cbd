-- Versions of the site file that came into force.
SELECT version, applied_at, applied_by, note, rollback_of, shares, queues, replaced_at
FROM report.versions
WHERE applied_at >= @since::timestamptz OR replaced_at IS NULL
ORDER BY version DESC;
