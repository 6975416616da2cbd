-- What the attempts that finished jobs reported to have made. They ended when their jobs did: only those days are looked at.
SELECT job_id, outputs FROM attempts
WHERE job_id = ANY (@jobs::bigint[]) AND outcome = 'finished' AND outputs IS NOT NULL
    AND ended_at BETWEEN @low::timestamptz AND @high::timestamptz;
