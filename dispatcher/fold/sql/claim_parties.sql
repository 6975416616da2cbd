-- All parties, for a start.
SELECT nth, task, jobs, array_to_string(claims, ' ') AS claims FROM claim_parties ORDER BY nth;
