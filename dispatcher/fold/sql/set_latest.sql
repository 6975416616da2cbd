-- The newest entries of their kind.
INSERT INTO latest AS l (kind, key, name, entry)
SELECT kind::"char", key, name, entry::jsonb FROM unnest(@kinds::text[], @keys::bigint[], @names::text[], @entries::text[]) AS e (kind, key, name, entry)
ON CONFLICT (kind, key, name) DO UPDATE SET entry = excluded.entry;
