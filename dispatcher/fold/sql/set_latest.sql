-- The newest entries of their kind.
INSERT INTO latest AS l (kind, key, entry)
SELECT kind::"char", key, entry::jsonb FROM unnest(@kinds::text[], @keys::bigint[], @entries::text[]) AS e (kind, key, entry)
ON CONFLICT (kind, key) DO UPDATE SET entry = excluded.entry;
