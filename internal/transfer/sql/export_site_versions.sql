-- Every version of the site.
SELECT row_to_json(r)::text FROM (
    SELECT 'site_version' AS kind, version, applied_at, applied_by, note, rollback_of, source, share_ids, queue_ids
    FROM site_versions
    ORDER BY version
) r;
