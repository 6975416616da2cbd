-- Not now(): who waited for the barrier began earlier.
SELECT clock_timestamp();
