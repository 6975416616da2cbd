-- All parties with their jobs, for a start.
SELECT p.nth, p.task, p.jobs, array_to_string(p.claims, ' ') AS claims, coalesce(j.spans, '') AS spans
FROM claim_parties p
LEFT JOIN (SELECT party, string_agg(low || ' ' || high, ' ' ORDER BY place) AS spans FROM claim_jobs GROUP BY party) j ON j.party = p.nth
ORDER BY p.nth;
