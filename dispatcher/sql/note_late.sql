-- What a pilot says of an attempt that had ended otherwise by then; the same word again is no news.
UPDATE attempts
SET report = divvy_merge_reports(report, @report::jsonb)
WHERE job_id = @job::bigint AND attempt = @attempt::bigint AND coalesce(said, outcome) <> @outcome::text;
