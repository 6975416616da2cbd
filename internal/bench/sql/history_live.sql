-- MB of the tables of what lives, with their indexes.
SELECT (sum(pg_total_relation_size(t::regclass)) / 1e6)::float8
FROM unnest(ARRAY['jobs', 'leases', 'lease_reports', 'tasks', 'counters', 'counter_lanes', 'limits', 'escrow', 'shapes']) AS t;
