-- Ids that somebody outside of the database may hold: the last of each kind that may have been given. A file has the names that 0.10 had.
SELECT row_to_json(r)::text FROM (
    SELECT 'sequence' AS kind, name, last
    FROM (
        SELECT CASE sequencename WHEN 'job_ids' THEN 'jobs_id_seq' WHEN 'claim_keys_id_seq' THEN 'resource_claims_id_seq' ELSE sequencename::text END AS name, last_value + increment_by - 1 AS last
        FROM pg_sequences
        WHERE schemaname = 'public' AND last_value IS NOT NULL
    ) s
    WHERE name = ANY (@names::text[])
    ORDER BY name
) r;
