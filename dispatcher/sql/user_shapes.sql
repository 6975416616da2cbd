-- For each shape the one that jobs of a user have in a share that gives jobs by fair turn among users; without a user the one
-- of anybody's jobs. Those of users are made when they are new.
WITH wanted AS (
    SELECT w.nth, p.id AS plain_id, p.key AS plain_key, w.user_name
    FROM unnest(@shapes::int[], @users::text[]) WITH ORDINALITY AS w (shape_id, user_name, nth)
    JOIN shapes h ON h.id = w.shape_id
    JOIN shapes p ON p.id = coalesce(h.plain_id, h.id)
), keyed AS (
    SELECT nth, plain_id, user_name, sha256(plain_key || convert_to(user_name, 'UTF8')) AS key FROM wanted
), found AS (
    SELECT id, key FROM shapes WHERE key = ANY (ARRAY(SELECT key FROM keyed WHERE key IS NOT NULL))
), made AS (
    INSERT INTO shapes (key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id, claims, locations, locality,
        user_name, plain_id)
    SELECT DISTINCT ON (k.key) k.key, p.cores, p.memory_mb, p.disk_mb, p.walltime_s, p.labels, p.queues, p.label, p.resources, p.sharing_id,
        p.claims, p.locations, p.locality, k.user_name, k.plain_id
    FROM keyed k
    JOIN shapes p ON p.id = k.plain_id
    WHERE k.key IS NOT NULL AND NOT EXISTS (SELECT FROM found f WHERE f.key = k.key)
    -- In one order, so that two who make the same ones do not wait for each other.
    ORDER BY k.key
    -- A no-op update, so that a row which another transaction has just made is returned too.
    ON CONFLICT (key) DO UPDATE SET cores = excluded.cores
    RETURNING id, key
)
SELECT coalesce(m.id, k.plain_id) AS id
FROM keyed k
LEFT JOIN (SELECT id, key FROM found UNION ALL SELECT id, key FROM made) m USING (key)
ORDER BY k.nth;
