-- All attempts that ended, to be compared.
SELECT job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code, memory_mb, outcome, state,
    pilot, node
FROM history;
