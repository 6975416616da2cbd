-- How attempts ended, of those that are known: found by job, and told apart by attempt and nonce.
SELECT h.job, h.attempt, h.nonce, h.outcome, h.state
FROM history h
JOIN unnest(@job::bigint[], @attempt::int[], @nonce::bigint[]) AS k (job, attempt, nonce)
    ON h.job = k.job AND h.attempt = k.attempt AND h.nonce = k.nonce;
