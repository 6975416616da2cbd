-- In front of every claim: keeps Barrier away until the claim has committed.
SELECT pg_advisory_xact_lock_shared(@class::int, 0);
