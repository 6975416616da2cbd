-- Jobs that ended between two times, and that nothing will try again.
UPDATE ended_jobs SET scaled_away = true
WHERE id = ANY (@ids::bigint[]) AND ended_at BETWEEN @first::timestamptz AND @last::timestamptz;
