-- The row of a daemon's diary that a replay begins with: the newest with a stand before the time, else the first there is.
SELECT coalesce(
    (SELECT d.nth FROM diaries d
        WHERE d.daemon_id = @daemon::bigint AND d.written_at <= @since::timestamptz AND d.written_at > @since::timestamptz - interval '1 hour'
            AND position('S' in d.words) > 0
        ORDER BY d.nth DESC LIMIT 1),
    (SELECT d.nth FROM diaries d
        WHERE d.daemon_id = @daemon::bigint AND d.written_at BETWEEN @since::timestamptz AND @until::timestamptz
        ORDER BY d.nth LIMIT 1),
    0);
