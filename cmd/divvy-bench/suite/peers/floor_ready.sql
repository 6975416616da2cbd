-- What is left, to count what pgbench's transactions really claimed.
SELECT count(*) FROM floor_jobs WHERE state = 'ready';
