-- Making a day reads the default partition under an exclusive lock: not for long, whatever is in it.
SELECT set_config('statement_timeout', '2s', true);
