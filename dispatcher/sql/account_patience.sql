-- For this transaction: whoever has a day, vacuum as a rule, is not waited for.
SELECT set_config('lock_timeout', '100ms', true);
