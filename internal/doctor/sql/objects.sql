-- What the schema has, named as migrations.Objects names it.
WITH of_schema AS (
    SELECT c.oid, c.relkind, CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('public', 'report')
)
SELECT CASE relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' WHEN 'i' THEN 'index' WHEN 'I' THEN 'index' ELSE 'table' END AS kind, name
FROM of_schema WHERE relkind IN ('r', 'p', 'v', 'S', 'i', 'I')
UNION ALL
SELECT 'column', s.name || '.' || a.attname
FROM of_schema s JOIN pg_attribute a ON a.attrelid = s.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE s.relkind IN ('r', 'p')
UNION ALL
SELECT 'constraint', s.name || '.' || c.conname FROM of_schema s JOIN pg_constraint c ON c.conrelid = s.oid WHERE c.convalidated
UNION ALL
SELECT 'trigger', s.name || '.' || t.tgname FROM of_schema s JOIN pg_trigger t ON t.tgrelid = s.oid WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
UNION ALL
SELECT 'function', CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || p.proname
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('public', 'report');
