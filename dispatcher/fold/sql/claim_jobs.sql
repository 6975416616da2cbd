-- The jobs of all parties, for a start.
SELECT low, high, party, place FROM claim_jobs ORDER BY party, place;
