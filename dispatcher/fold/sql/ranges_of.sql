-- All ranges of some tasks. It reads the whole table: verbs about all of a task are rare.
SELECT low, high, task, place, share, shape, attempt, state FROM idle_ranges WHERE task = ANY (@ids::bigint[]);
