-- Ready jobs in bulk, in the order of appendJob. They are not displaced: whoever makes them so notes ranges for them.
COPY jobs (id, task_id, share_id, shape_id, place, priority, max_attempts, idx, inputs, first_event, n_events, retry_of, claims, displaced)
FROM STDIN (FORMAT binary);
