-- Orders to end leases of these tasks.
SELECT nth, task, low, high, reason, grace_s, idle FROM kills WHERE task = ANY (@ids::bigint[]) ORDER BY nth;
