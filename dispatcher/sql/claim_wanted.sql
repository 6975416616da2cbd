-- Whether a job is left that may hold a claim.
SELECT EXISTS (SELECT FROM jobs j WHERE j.claims @> ARRAY[@claim::bigint]);
