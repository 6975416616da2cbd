-- The queues at which these leases are, each once. Leases that are over have none.
SELECT DISTINCT queue_id FROM leases WHERE job_id = ANY (@jobs::bigint[]) AND nonce = ANY (@nonces::bigint[]);
