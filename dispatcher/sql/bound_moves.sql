-- Rows of the default partition move for a minute at most: judgements and the purge of them wait meanwhile.
SELECT set_config('statement_timeout', '1min', true);
