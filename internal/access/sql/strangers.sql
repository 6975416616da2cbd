-- Which of these queues, and this node of the share tree, the site does not have; and the first of those that it has.
SELECT 'queue' AS kind, q.name,
    (SELECT coalesce(array_agg(k.name ORDER BY k.position), '{}') FROM (SELECT name, position FROM queues WHERE removed_in IS NULL ORDER BY position LIMIT 20) k) AS known
FROM unnest(@queues::text[]) AS q (name)
WHERE NOT EXISTS (SELECT FROM queues WHERE queues.name = q.name AND removed_in IS NULL)
UNION ALL
SELECT 'share', @share::text,
    (SELECT coalesce(array_agg(k.path ORDER BY k.position), '{}') FROM (SELECT path, position FROM shares WHERE removed_in IS NULL ORDER BY position LIMIT 20) k)
WHERE @share::text <> '' AND NOT EXISTS (SELECT FROM shares WHERE path = @share::text AND removed_in IS NULL)
ORDER BY 1, 2
