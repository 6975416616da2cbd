-- One candidate, unless somebody is at it: then an error.
SELECT id FROM panda_jobs WHERE id = $1 AND status = 'activated' FOR UPDATE NOWAIT;
