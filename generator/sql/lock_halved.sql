-- Tasks of which pieces are to become two, locked in the order of their ids. Locked ones are in another daemon's hands.
SELECT id, state, share_id, priority, split,
    lots IS NOT NULL AND coalesce(spec #>> '{split,by}', '') = 'events' AS shared, scouts IS NOT NULL AND scouted IS NULL AS scouting, coalesce(n_halves, 0) AS n_halves
FROM tasks
WHERE id = ANY (@tasks::bigint[])
ORDER BY id
FOR UPDATE SKIP LOCKED;
