-- Daemons that decided within a time, eldest first.
SELECT DISTINCT daemon_id FROM (
    SELECT daemon_id FROM diaries WHERE written_at BETWEEN @since::timestamptz AND @until::timestamptz
    UNION ALL
    SELECT daemon_id FROM decisions WHERE written_at BETWEEN @since::timestamptz AND @until::timestamptz
) d ORDER BY daemon_id;
