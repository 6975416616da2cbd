-- Jobs in bulk, in the order of appendJob.
COPY jobs (id, idx, first_event, n_events, retry_of, inputs, claims) FROM STDIN (FORMAT binary);
