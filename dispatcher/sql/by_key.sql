-- In front of a statement that finds its rows by key, in its transaction. The plan is made once and kept, when the
-- tables may be empty, and must be right when they are large: rows come by "key = ANY (array)" from an index, never
-- by a scan, and are joined by hash, never each with each.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true);
