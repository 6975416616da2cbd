-- The attempts of a job that ended, in order, with what was said of them. Days before the job was made are not looked at.
SELECT a.attempt AS last_attempt, a.nonce, coalesce(q.name, '') AS queue, a.pilot, a.node, a.outcome::text AS outcome, a.granted_at, a.start_delay_ms,
    a.ended_at AS last_ended_at, a.exit_code, a.cpu_ms, a.memory_mb, '' AS ending, coalesce(t.reason, '') AS message, t.outputs,
    CASE WHEN t.metadata IS NULL THEN t.report ELSE coalesce(t.report, '{}') || jsonb_build_object('metaData', t.metadata) END AS report,
    coalesce((SELECT n.note FROM judgements n WHERE n.job_id = a.job AND n.attempt = a.attempt), '') AS judged
FROM history a
LEFT JOIN queues q ON q.id = a.queue
LEFT JOIN LATERAL (
    SELECT x.* FROM attempt_texts x WHERE x.job_id = a.job AND x.attempt = a.attempt AND x.ended_on = (a.ended_at AT TIME ZONE 'UTC')::date LIMIT 1
) t ON true
WHERE a.job = @job::bigint AND a.ended_at >= (SELECT b.made_at FROM job_blocks b WHERE b.low <= @job::bigint ORDER BY b.low DESC LIMIT 1)
ORDER BY a.attempt;
