-- Has ids go on behind those of the database that a file is from, and behind those that came along.
SELECT setval(('public.' || CASE s.name WHEN 'jobs_id_seq' THEN 'job_ids' WHEN 'resource_claims_id_seq' THEN 'claim_keys_id_seq' ELSE s.name END)::regclass, s.last)
FROM (
    SELECT name, max(last) AS last
    FROM (
        SELECT r.name, r.last FROM jsonb_to_recordset(@records::jsonb) AS r (name text, last bigint)
        UNION ALL SELECT 'shares_id_seq', max(id) FROM shares
        UNION ALL SELECT 'queues_id_seq', max(id) FROM queues
        UNION ALL SELECT 'site_later_id_seq', max(id) FROM site_later
        UNION ALL SELECT 'tokens_id_seq', max(id) FROM tokens
    ) given
    GROUP BY name
) s
WHERE s.last IS NOT NULL;
