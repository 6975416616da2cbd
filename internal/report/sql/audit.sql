-- Who changed what, the newest first.
SELECT at, who, role, what, object, before, after
FROM report.audit
WHERE at >= @since::timestamptz
ORDER BY id DESC
LIMIT 1000;
