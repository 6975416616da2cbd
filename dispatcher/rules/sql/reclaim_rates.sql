-- How many orders the plans with a rate have given within their time.
SELECT p.plan_id, count(r.job_id)::int AS n
FROM unnest(@plan::int[], @per_s::float8[]) AS p (plan_id, per_s)
LEFT JOIN reclaims r ON r.plan_id = p.plan_id AND r.ordered_at > now() - make_interval(secs => p.per_s)
GROUP BY p.plan_id;
