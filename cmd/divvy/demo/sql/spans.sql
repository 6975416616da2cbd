-- When each attempt held slots, in seconds from the start of the window; those outside of it are left out.
SELECT share, cores::float8 AS slots,
    extract(epoch FROM claimed_at - @since::timestamptz)::float8 AS began,
    extract(epoch FROM ended_at - @since::timestamptz)::float8 AS ended
FROM report.attempts
WHERE share = ANY (@shares::text[]) AND ended_at > @since::timestamptz AND claimed_at < @until::timestamptz
