-- Orders to end the leases of a range.
INSERT INTO kills (nth, task, low, high, grace_s, idle, reason)
SELECT nth, task, low, high, grace_s, idle, reason
FROM unnest(@nths::bigint[], @tasks::bigint[], @lows::bigint[], @highs::bigint[], @graces_s::int[], @idle::boolean[], @reasons::text[])
    AS k (nth, task, low, high, grace_s, idle, reason);
