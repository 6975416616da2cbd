-- For this transaction: statements over hundreds of days are planned once a connection, for any numbers, and then read the
-- indexes of all days, which know that there is nothing, not the days. What they group stays in memory, and meets its users in a hash
-- however few they seemed to be when the statement was planned.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_nestloop', 'off', true), set_config('work_mem', '64MB', true);
