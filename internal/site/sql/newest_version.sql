-- The newest version, up to one, with the present states of its queues and the capacities set beside the file, in one snapshot. The source is left out
-- when the caller has it.
SELECT v.version, v.applied_at, v.applied_by, v.note, coalesce(v.rollback_of, 0) AS rollback_of,
       CASE WHEN v.version = @known::bigint THEN '' ELSE v.source END AS source,
       v.share_ids, v.queue_ids,
       (SELECT coalesce(jsonb_object_agg(q.name, q.state), '{}')
        FROM queues AS q
        WHERE q.removed_in IS NULL) AS queue_states,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('name', c.name, 'key', c.key, 'queue_id', c.queue_id, 'capacity', c.capacity)
                                  ORDER BY c.name, c.key, c.queue_id), '[]')
        FROM resource_capacities AS c) AS capacities
FROM site_versions AS v
WHERE v.version <= @upto::bigint
ORDER BY v.version DESC
LIMIT 1
