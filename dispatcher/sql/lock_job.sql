-- Locks one live job.
SELECT id FROM jobs WHERE id = @job::bigint FOR UPDATE;
