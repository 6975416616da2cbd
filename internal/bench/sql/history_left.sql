-- What is left of the generated history.
SELECT (SELECT count(*) FROM ended_jobs WHERE id >= @first::bigint) + (SELECT count(*) FROM attempts WHERE job_id >= @first::bigint);
