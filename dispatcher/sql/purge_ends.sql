-- Drops counts of ends that no window reaches any more.
DELETE FROM end_counters WHERE hour < now() - interval '8 days';
