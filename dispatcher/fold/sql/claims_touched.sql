-- The claims that a step may change: those that it names, those that jobs hold which it names, those whose time is over by its last tick,
-- and those that a new version of the site may have a template for. As spans are disjoint, only the last one that begins before a span
-- of ids may reach into it.
SELECT unnest(p.claims) AS claim
FROM unnest(@lows::bigint[], @highs::bigint[], @tasks::bigint[]) AS s (low, high, task)
CROSS JOIN LATERAL (
    SELECT c.party FROM claim_jobs c
    WHERE c.low <= s.high AND c.high >= s.low
        AND c.low >= coalesce((SELECT b.low FROM claim_jobs b WHERE b.low <= s.low ORDER BY b.low DESC LIMIT 1), s.low)
    OFFSET 0
) j
CROSS JOIN LATERAL (
    SELECT i.claims FROM claim_parties i WHERE i.nth = j.party AND s.task IN (0, i.task) OFFSET 0
) p
UNION
SELECT unnest(@ids::bigint[])
UNION
SELECT id FROM claims WHERE look_at <= @tick::timestamptz
UNION
SELECT id FROM claims WHERE missing AND @adopted::boolean;
