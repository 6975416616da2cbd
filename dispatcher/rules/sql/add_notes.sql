-- Notes what was made of attempts.
INSERT INTO judgements (job_id, attempt, note)
SELECT n.job, n.attempt, n.note FROM unnest(@job::bigint[], @attempt::int[], @note::text[]) AS n (job, attempt, note)
ON CONFLICT (job_id, attempt) DO NOTHING;
