-- Adds to what rules said of attempts.
UPDATE judgements j SET note = j.note || ': ' || n.words
FROM unnest(@jobs::bigint[], @attempts::int[], @words::text[]) AS n (job_id, attempt, words)
WHERE j.job_id = n.job_id AND j.attempt = n.attempt;
