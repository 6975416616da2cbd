-- Orders to end the leases of a range.
INSERT INTO kills (nth, task, low, high, grace_s, idle, reason)
SELECT nth, task, low, high, grace_s, idle, reason
FROM unnest(@nth::bigint[], @task::bigint[], @low::bigint[], @high::bigint[], @grace_s::int[], @idle::boolean[], @reason::text[])
    AS k (nth, task, low, high, grace_s, idle, reason);
