-- On top of resources.sql: a claim of alice that holds three units and two devices, others that hold nothing. Job 12 has shape 2.
INSERT INTO shapes (id, key, cores, memory_mb, disk_mb, walltime_s, labels, queues, resources, sharing_id) OVERRIDING SYSTEM VALUE VALUES
    (4, '\x04', 0, 0, 0, 0, '{}', '{}', '{"maya": 3}', 'alice');
INSERT INTO resource_claims (id, task_id, key, template, linger_s, state, queue_id, node, devices, bound_at, sharers, charge_id, share_id, ended_at, idle_since) OVERRIDING SYSTEM VALUE VALUES
    (1, 1, '0/pool', '{"name": "pool", "resources": {"maya": 3}, "devices": {"gpu": 2}, "max_sharers": 4, "gang": true}', 60, 'bound', 1, 'n1', '["gpu:0", "gpu:1"]',
        now() - interval '5 min', 2, 4, 2, NULL, NULL),
    (2, 1, '1/pool', '{"name": "pool", "resources": {"maya": 3}, "devices": {"gpu": 2}}', 60, 'pending', 0, '', '[]', NULL, 0, 4, 0, NULL, NULL),
    (3, 2, 'fast', '{"name": "fast", "missing": true}', 60, 'pending', 0, '', '[]', NULL, 0, 0, 0, NULL, NULL),
    (4, 0, 'shelf', '{"name": "shelf"}', 0, 'bound', 2, 'n2', '[]', now() - interval '5 min', 0, 0, 0, NULL, now()),
    (5, 1, '0/pool', '{"name": "pool", "node": true}', 60, 'released', 0, '', '[]', NULL, 0, 0, 0, now(), NULL);
INSERT INTO counters (share_id, shape_id, queue_id, waiting, ready, held, held_units) VALUES (2, 4, 1, 0, 0, 1, 0);
UPDATE leases SET shape_id = 2, claimed_at = now() - interval '5 min', node = 'n2' WHERE job_id = 12;
