-- How many of these jobs ended as finished, with their one attempt recorded, started and ended.
SELECT count(DISTINCT h.job)
FROM history h
WHERE h.job = ANY (@jobs::bigint[]) AND h.attempt = 1 AND h.state = 'f' AND h.outcome = 'f' AND h.start_delay_ms >= 0;
