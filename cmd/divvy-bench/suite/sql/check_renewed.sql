-- Held leases that a pilot has renewed: it said that they run.
SELECT count(*) FROM held WHERE start_delay_ms >= 0 AND pilot LIKE 'held-%';
