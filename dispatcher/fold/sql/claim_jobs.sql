-- The jobs of all parties.
SELECT low, high, party, place FROM claim_jobs ORDER BY party, place;
