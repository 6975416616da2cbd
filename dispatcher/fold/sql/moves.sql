-- All that was said of leases, for a start.
SELECT nth, task, low, high, at, from_share, share, place, running FROM moves ORDER BY nth;
