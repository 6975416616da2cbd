-- Ids that somebody outside of the database may hold: the last of each kind that was given.
SELECT row_to_json(r)::text FROM (
    SELECT 'sequence' AS kind, sequencename AS name, last_value AS last
    FROM pg_sequences
    WHERE schemaname = 'public' AND sequencename = ANY (@names::text[]) AND last_value IS NOT NULL
    ORDER BY sequencename
) r;
