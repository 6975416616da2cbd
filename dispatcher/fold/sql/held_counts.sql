-- How many leases tasks have.
SELECT task, held FROM task_counts WHERE task = ANY (@ids::bigint[]);
