-- Held leases that a pilot has renewed: it said that they run.
SELECT count(*) FROM leases WHERE state = 'running' AND pilot LIKE 'held-%';
