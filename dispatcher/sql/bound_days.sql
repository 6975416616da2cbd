-- Making a day reads the default partition twice, the second time under an exclusive lock: whoever has not come through the
-- first time in a second does not get to the second, and ends wait for half a second at most.
SELECT set_config('statement_timeout', '1s', true);
