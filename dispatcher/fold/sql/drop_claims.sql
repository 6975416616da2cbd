-- Claims that ended before a time.
DELETE FROM claims WHERE ended_at < @before::timestamptz;
