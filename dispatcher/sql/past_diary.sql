-- The next rows of a daemon's diary.
SELECT nth, written_at, turn, words, turns, ms_ago, refs, share_ids, shape_ids, queue_ids, amounts
FROM diaries
WHERE daemon_id = @daemon::bigint AND nth > @nth::bigint AND written_at BETWEEN @since::timestamptz AND @until::timestamptz
ORDER BY nth
LIMIT 16;
