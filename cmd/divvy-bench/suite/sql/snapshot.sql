-- Jobs that were ever made of tasks, as the transaction sees it; which may be idle from now on as long as it likes.
SELECT coalesce(sum(n_generated), 0)::bigint FROM tasks, set_config('idle_in_transaction_session_timeout', '0', true);
