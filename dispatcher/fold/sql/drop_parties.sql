-- Parties all of whose jobs are over.
DELETE FROM claim_parties WHERE nth = ANY (@ids::bigint[]);
