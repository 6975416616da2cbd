-- A need is over.
UPDATE task_needs SET state = @state::text, low_next = NULL WHERE task_id = @task::bigint AND place = @place::int AND state = 'open';
