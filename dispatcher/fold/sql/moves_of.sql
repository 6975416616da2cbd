-- What was said of leases of these tasks.
SELECT nth, task, low, high, at, from_share, share, place, running FROM moves WHERE task = ANY (@ids::bigint[]) ORDER BY nth;
