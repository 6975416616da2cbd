-- Ids that somebody outside of the database may hold: the last of each kind that was given. Files have the names of releases up to 0.10,
-- which gave ids of jobs by blocks.
SELECT row_to_json(r)::text FROM (
    SELECT 'sequence' AS kind, s.name, s.last_value AS last
    FROM (
        SELECT CASE sequencename WHEN 'job_ids' THEN 'jobs_id_seq' WHEN 'claim_keys_id_seq' THEN 'resource_claims_id_seq' ELSE sequencename END AS name,
            last_value + increment_by - 1 AS last_value
        FROM pg_sequences
        WHERE schemaname = 'public'
    ) s
    WHERE s.name = ANY (@names::text[]) AND s.last_value IS NOT NULL
    ORDER BY s.name
) r;
