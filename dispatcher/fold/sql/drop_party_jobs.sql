-- With their jobs.
DELETE FROM claim_jobs WHERE party = ANY (@ids::bigint[]);
