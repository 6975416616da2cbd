-- What pieces of other tasks could correspond to.
SELECT id, name, split, per_job, n_events, n_inputs, n_pieces, committed_at IS NOT NULL AS committed,
    chain IS NOT NULL AND n_released IS NULL OR lots IS NOT NULL AS growing
FROM tasks WHERE id = ANY (@tasks::bigint[]);
