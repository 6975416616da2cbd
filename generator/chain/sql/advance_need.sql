-- How far a need has come. At the beginning of a round seen is what it will have found at least.
UPDATE task_needs SET low = @low::bigint, after = @after::bigint, low_next = @low_next::bigint, was_over = @was_over::boolean,
    n_taken = @n_taken::bigint, seen = greatest(seen, @seen::bigint)
WHERE task_id = @task::bigint AND place = @place::int AND state = 'open';
