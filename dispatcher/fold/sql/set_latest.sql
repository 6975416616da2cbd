-- The newest entries of their kind.
INSERT INTO latest AS l (kind, key, name, entry)
SELECT kind::"char", key, name, entry::jsonb FROM unnest(@kind::text[], @key::bigint[], @name::text[], @entry::text[]) AS e (kind, key, name, entry)
ON CONFLICT (kind, key, name) DO UPDATE SET entry = excluded.entry;
