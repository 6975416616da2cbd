-- All ranges, for a start.
SELECT low, high, task, place, share, shape, attempt, state FROM idle_ranges ORDER BY high;
