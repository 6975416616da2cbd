-- New queues get their ids and are online; update_queues fills in the rest.
INSERT INTO queues (name, position)
SELECT n.name, 0
FROM unnest(@names::text[]) AS n (name)
RETURNING id, name
