-- What the lots of a task that is about to be published come to.
UPDATE tasks SET lots = @lots::int, n_pieces = @n_pieces::bigint, n_jobs = least(@n_pieces::bigint, scouts) WHERE id = @task::bigint;
