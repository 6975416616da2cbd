-- What PanDA's pilots reported of attempts that ended in the last day: exit codes, CPU time, memory, events, bytes of output.
SELECT share, outcome, report->>'transExitCode' AS trans_exit_code, report->>'exeErrorCode' AS exe_error_code, count(*) AS attempts,
    round(avg((report->>'cpuConsumptionTime')::numeric)) AS cpu_s, max((report->>'maxRSS')::bigint) / 1024 AS max_rss_mib,
    sum(substring(report->>'jobMetrics' FROM 'nEvents=([0-9]+)')::bigint) AS events,
    sum((SELECT sum((f->>'fsize')::bigint) FROM jsonb_path_query(outputs, '$.*') f)) AS output_bytes
FROM report.attempts
WHERE ended_at >= now() - interval '1 day'
GROUP BY share, outcome, report->>'transExitCode', report->>'exeErrorCode'
ORDER BY attempts DESC, share, outcome;
