-- All orders to end leases, for a start.
SELECT nth, task, low, high, reason, grace_s, idle FROM kills ORDER BY nth;
