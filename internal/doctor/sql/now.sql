-- The only clock that leases go by.
SELECT clock_timestamp() AS now;
