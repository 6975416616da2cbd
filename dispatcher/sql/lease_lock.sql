-- In front of every grant, in its transaction: keeps Barrier away until the grant has committed, and has the grant
-- planned as look-ups by key (see by_key): by a nested loop, or by a hash of the array.
SELECT pg_advisory_xact_lock_shared(@class::int, 0), set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_nestloop', @nestloop::text, true), set_config('enable_hashjoin', @hashjoin::text, true);
