-- For this transaction: times in UTC, and an end to what takes too long.
SELECT set_config('timezone', 'UTC', true), set_config('statement_timeout', '30s', true);
