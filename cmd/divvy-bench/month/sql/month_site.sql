-- The site of a month like ATLAS's: 8 shares of 5 leaves each, 120 queues, 400 users with 3000 tasks a day.
WITH tops AS (
    INSERT INTO shares (name, path, position, leaf, weight) SELECT 't' || i, 't' || i, i, false, i FROM generate_series(1, 8) AS i RETURNING id, name
), leaves AS (
    INSERT INTO shares (parent_id, name, path, position, leaf, weight)
    SELECT t.id, 's' || i, t.name || '/s' || i, i, true, i FROM tops t CROSS JOIN generate_series(1, 5) AS i RETURNING id
), queues AS (
    INSERT INTO queues (name, core_power_milli, position) SELECT 'q' || i, 8000 + 100 * i, i FROM generate_series(1, 120) AS i RETURNING id
)
INSERT INTO tasks (id, name, user_name, state, share_id, spec, created_at, committed_at, ended_at) OVERRIDING SYSTEM VALUE
SELECT i, 'task ' || i, 'user' || (400 * (i * 7919 % 10007 / 10007.0) ^ 3)::int, 'done',
    (SELECT min(id) FROM leaves) + i % 40, '{}', now() - interval '40 days', now() - interval '40 days', now()
FROM generate_series(1, 3000 * @days::int) AS i;
