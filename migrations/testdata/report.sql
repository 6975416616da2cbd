-- A small site at rest: what docs/reporting.md is asked about. Times are taken from the start of this transaction.
INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids) VALUES (1, 'test', '', '{}', '{}');

INSERT INTO shares (id, parent_id, name, path, position, leaf, weight, tier, removed_in) OVERRIDING SYSTEM VALUE VALUES
    (1, NULL, 'Production', 'Production', 0, false, 70, 1, NULL),
    (2, 1, 'MC', 'Production/MC', 0, true, 50, 1, NULL),
    (3, 1, 'Rep', 'Production/Rep', 1, true, 30, 1, NULL),
    (4, NULL, 'Test', 'Test', 1, true, 5, 2, NULL),
    (5, NULL, 'Old', 'Old', 2, true, 1, 1, 1);
INSERT INTO queues (id, name, core_power_milli, position) OVERRIDING SYSTEM VALUE VALUES (1, 'CERN', 2500, 0), (2, 'BNL', 1000, 1);
INSERT INTO shapes (id, key, cores, memory_mb, disk_mb, walltime_s, labels, queues) OVERRIDING SYSTEM VALUE
    VALUES (1, '\x01', 2, 0, 0, 0, '{}', '{}');

INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec, n_jobs, n_pieces, n_generated, n_waiting, n_ready, n_leased, n_finished,
    n_failed, n_cancelled, committed_at, started_at, ended_at) OVERRIDING SYSTEM VALUE VALUES
    (1, 'mc', 'alice', 'running', 2, 1, '{}', 10, 10, 10, 0, 5, 2, 3, 0, 0, now() - interval '3 h', now() - interval '2 h', NULL),
    (2, 'rep', 'bob', 'running', 3, 1, '{}', 4, 4, 4, 1, 3, 0, 0, 0, 0, now() - interval '1 h', now() - interval '1 h', NULL),
    (3, 'over', 'alice', 'finished', 4, 1, '{}', 2, 2, 2, 0, 0, 0, 1, 1, 0, now() - interval '1 day', now() - interval '1 day', now()),
    (4, 'new', 'carol', 'submitting', NULL, NULL, '{}', 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL);

-- Five ready jobs of MC, two more leased, one of Rep waiting and three ready.
INSERT INTO jobs (id, task_id, share_id, shape_id, place, state, priority, max_attempts, idx)
    SELECT i, 1, 2, 1, 0, 'ready', 900, 3, i FROM generate_series(11, 17) AS i;
INSERT INTO jobs (id, task_id, share_id, shape_id, place, state, priority, max_attempts, idx)
    SELECT i, 2, 3, 1, 0, CASE i WHEN 21 THEN 'waiting' ELSE 'ready' END, 0, 3, i FROM generate_series(21, 24) AS i;
INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, state, pilot, node, daemon_id, claimed_at,
    expires_at, ttl_s) VALUES
    (11, 1, 1, 1, 2, 1, 1, 5000, 2, 900, 'running', 'p1', 'n1', 1, now() - interval '10 min', now() + interval '1 min', 180),
    (12, 1, 2, 1, 2, 1, 2, 2000, 2, 900, 'granted', 'p2', 'n2', 1, now() - interval '5 min', now() + interval '1 min', 180);

-- The checkpoint has one lease and all but two ready jobs; the tail of two lanes has the rest.
INSERT INTO daemons (id, host, pid) OVERRIDING SYSTEM VALUE VALUES (1, 'h', 1);
INSERT INTO counters (share_id, shape_id, queue_id, waiting, ready, held, held_units) VALUES
    (2, 1, 0, 0, 4, 0, 0), (2, 1, 1, 0, 0, 1, 5000), (3, 1, 0, 1, 3, 0, 0);
INSERT INTO counter_lanes (daemon_id, lane, seq) VALUES (1, 0, 5);
INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units, places, low_ids, high_ids) VALUES
    (1, 0, 5, '{1}', '{2}', '{1}', '{1}', '{r}', '{l}', '{1}', '{5000}', '{0}', '{0}', '{0}'), -- folded already
    (1, 0, 6, '{1}', '{2}', '{1}', '{2}', '{r}', '{l}', '{1}', '{2000}', '{0}', '{0}', '{0}'),
    (0, 3, 1, '{1}', '{2}', '{1}', '{0}', '{-}', '{r}', '{2}', '{0}', '{0}', '{16}', '{17}');

INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, created_at) VALUES
    (1, 1, 2, 1, 900, 'finished', 2, 3, 1, now() - interval '3 h'), (2, 3, 4, 1, 0, 'failed', 1, 1, 2, now() - interval '3 h');

-- From 10 minutes before a full hour to 20 minutes after the next: three pieces of 10, 60 and 20 minutes.
INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, claimed_at, ended_at, outcome)
VALUES
    (1, 1, 3, 1, 2, 1, 1, 5000, 2, 900, 'p1', 'n1', date_trunc('hour', now(), 'UTC') - interval '190 min', date_trunc('hour', now(), 'UTC') - interval '100 min', 'lost'),
    (1, 2, 4, 1, 2, 1, 2, 2000, 2, 900, 'p2', 'n2', date_trunc('hour', now(), 'UTC') - interval '90 min', date_trunc('hour', now(), 'UTC') - interval '60 min', 'finished'),
    (2, 1, 5, 3, 4, 1, 2, 2000, 2, 0, 'p2', 'n2', date_trunc('hour', now(), 'UTC') - interval '30 min' - interval '0.000001 s', date_trunc('hour', now(), 'UTC') - interval '30 min', 'failed'),
    (3, 1, 6, 3, 4, 1, 2, 2000, 2, 0, 'p2', 'n2', date_trunc('hour', now(), 'UTC') - interval '2 days', date_trunc('hour', now(), 'UTC') - interval '2 days', 'cancelled');

UPDATE attempts SET report = '{"pilotErrorCode": 1305, "pilotErrorDiag": "Failed to execute payload"}' WHERE job_id = 2;

-- MC held 4 and then 6 units of promised 5 and 7, Test nothing of 1.
INSERT INTO share_samples (at, pool, share_id, target, held, ready)
    SELECT now() - make_interval(secs => s.ago), 'default', s.share_id, s.target, s.held, 1
    FROM (VALUES (2, 300, 5, 4000), (2, 200, 7, 6000), (2, 100, 7, 6000), (4, 300, 1, 0), (4, 100, 1, 0),
        (1, 300, 5, 4000), (2, 90000, 9, 9000)) AS s (share_id, ago, target, held);

-- Two decisions in one row, a second ago: MC before Rep, and Test with nobody else.
SELECT divvy_make_days('decisions', (now() AT TIME ZONE 'UTC')::date, 1);
INSERT INTO decisions (daemon_id, ms_ago, lanes, seqs, job_ids, queue_ids, share_ids, deficits, runner_up_ids, runner_up_deficits, candidates,
    units, rounds, weights) VALUES
    (1, '{1000,900}', '{0,0}', '{6,7}', '{12,2}', '{2,2}', '{2,4}', '{1.5,0.333}', '{3,0}', '{0.25,0}', '{2,1}', '{2000,2000}', '{9000,11000}', '{1,8}');
UPDATE attempts SET judged = 'failed for good: rule bug: no_retry' WHERE job_id = 2;
