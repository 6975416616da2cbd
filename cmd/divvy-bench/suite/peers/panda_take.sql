-- It is this pilot's.
UPDATE panda_jobs SET status = 'sent', pilot = $2, modified = now() WHERE id = $1;
