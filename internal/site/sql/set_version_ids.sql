-- The ids of a version, once new shares and queues have theirs.
UPDATE site_versions
SET share_ids = @share_ids::jsonb, queue_ids = @queue_ids::jsonb
WHERE version = @version::bigint
