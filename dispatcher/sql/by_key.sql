-- In front of a statement that finds its rows by key, in its transaction: it is planned that way whatever the
-- tables look like at that moment.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_sort', 'off', true);
