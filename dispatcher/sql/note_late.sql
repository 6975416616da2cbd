-- What a pilot says of an attempt that had ended otherwise by then; the same word again is no news.
INSERT INTO attempt_texts AS t (job_id, ended_on, attempt, report)
SELECT h.job, (h.ended_at AT TIME ZONE 'UTC')::date, h.attempt, @report::jsonb
FROM history h
WHERE h.job = @job::bigint AND h.attempt = @attempt::int AND h.outcome::text <> @outcome::text
    AND h.ended_at >= (SELECT b.made_at FROM job_blocks b WHERE b.low <= @job::bigint ORDER BY b.low DESC LIMIT 1)
ON CONFLICT (job_id, attempt, ended_on) DO UPDATE SET report = divvy_merge_reports(t.report, excluded.report)
WHERE t.report -> 'late' ->> 'outcome' IS DISTINCT FROM @said::text;
