-- The jobs of these parties.
SELECT low, high, party, place FROM claim_jobs WHERE party = ANY (@ids::bigint[]) ORDER BY party, place;
