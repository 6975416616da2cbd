-- All counts of attempts that ended, to be compared.
SELECT (extract(epoch FROM hour) * 1000)::bigint AS hour_ms, share, shape, queue, outcome, state, n FROM end_counts;
