-- One version with the ids that its shares and queues had. States of queues and capacities that are set belong to now, not
-- to a version.
SELECT v.version, v.applied_at, v.applied_by, v.note, coalesce(v.rollback_of, 0) AS rollback_of,
       v.source, v.share_ids, v.queue_ids, '{}'::jsonb AS queue_states, '[]'::jsonb AS capacities
FROM site_versions AS v
WHERE v.version = @version::bigint
