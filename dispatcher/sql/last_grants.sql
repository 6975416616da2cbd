-- Who asks for resources, or has a turn among users, and was granted something of late, the longest ago first: the last rows of every lane, read by key.
SELECT g.share_id, g.shape_id, g.queue_id
FROM (
    SELECT DISTINCT ON (m.share_id, m.shape_id, m.queue_id) m.share_id, m.shape_id, m.queue_id, l.at, l.seq, m.nth
    FROM ledger_lanes a
    CROSS JOIN LATERAL (
        SELECT t.* FROM ledger t
        WHERE t.daemon_id = a.daemon_id AND t.lane = a.lane
        ORDER BY t.seq DESC LIMIT @n::int
    ) l
    CROSS JOIN LATERAL unnest(l.share_ids, l.shape_ids, l.queue_ids, l.befores, l.afters)
        WITH ORDINALITY AS m (share_id, shape_id, queue_id, before, after, nth)
    JOIN shapes s ON s.id = m.shape_id AND (s.resources <> '{}' OR s.user_name IS NOT NULL)
    WHERE m.before = @ready::text AND m.after = @leased::text
    ORDER BY m.share_id, m.shape_id, m.queue_id, l.at DESC, l.seq DESC, m.nth DESC
) g
ORDER BY g.at, g.seq, g.nth;
