-- The jobs that were over without a lease by some batches, in the order of the log.
SELECT task, low, high, 0 AS attempt, ' '::"char" AS outcome, state, 0 AS exit_code, at
FROM over_ranges
WHERE nth >= (@after::bigint + 1) << 20 AND nth < (@up_to::bigint + 1) << 20
ORDER BY nth, low;
