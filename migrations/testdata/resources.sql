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
-- alice: one job held at CERN, one at BNL that is in the tail only, 7 ready of which the tail took one; bob: 3 ready, none held any more.
INSERT INTO counters (share_id, shape_id, queue_id, waiting, ready, held, held_units) VALUES
    (2, 2, 0, 5, 8, 0, 0), (2, 2, 1, 0, 0, 1, 1000), (3, 3, 0, 0, 3, 0, 0), (3, 3, 1, 0, 0, 1, 1000);
INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units, places, low_ids, high_ids) VALUES
    (1, 0, 7, '{1,2}', '{2,3}', '{2,3}', '{2,1}', '{r,l}', '{l,f}', '{1,1}', '{1000,1000}', '{0,0}', '{0,0}', '{0,0}');

-- A decision for a slot that Rep would have got, had its jobs not been kept back by a resource.
INSERT INTO decisions (daemon_id, ms_ago, lanes, seqs, job_ids, queue_ids, share_ids, deficits, runner_up_ids, runner_up_deficits, candidates,
    units, rounds, weights, skipped_ids, skipped_words, skips) VALUES
    (1, '{500}', '{0}', '{8}', '{11}', '{1}', '{2}', '{1}', '{0}', '{0}', '{1}', '{1000}', '{9000}', '{1}', '{3}', 'r', '{1}');
