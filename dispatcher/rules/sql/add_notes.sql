-- Notes what was made of attempts.
INSERT INTO judgements (job_id, attempt, note)
SELECT n.job, n.attempt, n.note FROM unnest(@jobs::bigint[], @attempts::int[], @notes::text[]) AS n (job, attempt, note)
ON CONFLICT (job_id, attempt) DO NOTHING;
