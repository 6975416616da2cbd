-- What each leaf was promised, and given.
SELECT share, pool, round(sum(target_unit_seconds)::numeric / 3600, 2) AS promised_unit_hours, round(sum(held_unit_seconds)::numeric / 3600, 2) AS given_unit_hours,
    round((100 * sum(held_unit_seconds) / nullif(sum(target_unit_seconds), 0))::numeric, 1) AS percent,
    round(sum(missed_unit_seconds)::numeric / 3600, 2) AS missed_unit_hours, round(sum(starved_seconds)::numeric) AS starved_seconds
FROM report.share_fairness
WHERE leaf AND hour >= date_trunc('hour', @since::timestamptz, 'UTC')
GROUP BY share, pool
ORDER BY missed_unit_hours DESC, share, pool;
