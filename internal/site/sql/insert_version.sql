-- The new version; its number follows the last one, which the site lock keeps in place.
INSERT INTO site_versions (version, applied_by, note, rollback_of, source, share_ids, queue_ids)
VALUES (@version::bigint, @applied_by::text, @note::text, nullif(@rollback_of::bigint, 0), @source::text, '{}', '{}')
RETURNING applied_at
