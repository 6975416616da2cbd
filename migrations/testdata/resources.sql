-- On top of report.sql: licences, seats of a queue and connections to tables; alice and bob ask for them.
INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids) VALUES (2, 'test', '', '{}', '{}');
INSERT INTO site_resources (version, position, name, capacity, per_queue, keyed, split_by, external_expires) VALUES
    (1, 0, 'gone', 1, false, false, 'user', '10 min'),
    (2, 0, 'maya', 4, false, false, 'user', '10 min'),
    (2, 1, 'seats', 2, true, false, 'share', '10 min'),
    (2, 2, 'table', 4, false, true, 'label', '10 min'),
    (2, 3, 'idle', 1, false, false, 'user', '10 min');
INSERT INTO resource_capacities (name, key, queue_id, capacity, set_by, set_at) VALUES
    ('maya', '', 0, 6, 'ann', now()), ('seats', '', 2, 5, 'ann', now()), ('table', '', 0, 3, 'ann', now()), ('table', 'users', 0, 9, 'ann', now());
INSERT INTO resource_external (name, total, used, reported_at) VALUES
    ('maya', 100, 30, now() - interval '1 min'), ('table:orders', 8, 8, now() - interval '1 h');

INSERT INTO shapes (id, key, cores, memory_mb, disk_mb, walltime_s, labels, queues, label, resources, sharing_id) OVERRIDING SYSTEM VALUE VALUES
    (2, '\x02', 1, 0, 0, 0, '{}', '{}', 'nightly', '{"maya": 2, "seats": 1}', 'alice'),
    (3, '\x03', 1, 0, 0, 0, '{}', '{}', 'nightly', '{"maya": 1, "table:orders": 1, "gone": 1}', 'bob');
-- alice: one job held at CERN, one at BNL, 7 ready; bob: 3 ready.
INSERT INTO share_counts (share, shape, queue, ready, held, held_units) VALUES
    (2, 2, 0, 7, 0, 0), (2, 2, 1, 0, 1, 1000), (2, 2, 2, 0, 1, 1000), (3, 3, 0, 3, 0, 0);
