-- Locks the first live tasks of a share: as many as have so many jobs together, by their counts, and one at the least.
WITH first AS (
    SELECT t.id, t.n_waiting + t.n_ready + t.n_leased AS jobs FROM tasks t
    WHERE t.ended_at IS NULL AND t.share_id = @share::int
    ORDER BY t.id
    LIMIT @limit::int
)
SELECT t.id FROM tasks t
WHERE t.id IN (SELECT f.id FROM (SELECT id, sum(jobs) OVER (ORDER BY id) - jobs AS before FROM first) f WHERE f.before < @jobs::int)
    AND t.ended_at IS NULL AND t.share_id = @share::int
ORDER BY t.id
FOR UPDATE OF t;
