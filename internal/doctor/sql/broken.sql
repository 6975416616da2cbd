-- Indexes that are not used because they were not built to the end, and tables and indexes that a crash empties.
SELECT c.relname::text AS name, i.indrelid::regclass::text AS of_table, c.relpersistence = 'u' AS unlogged
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'public'::regnamespace AND (NOT i.indisvalid OR NOT i.indisready OR c.relpersistence = 'u')
    AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = c.oid)
UNION ALL
SELECT c.relname::text, '', true FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relpersistence = 'u'
ORDER BY 1;
