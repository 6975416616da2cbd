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

INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec, n_jobs, n_pieces, n_generated, committed_at, started_at, ended_at)
    OVERRIDING SYSTEM VALUE VALUES
    (1, 'mc', 'alice', 'running', 2, 1, '{}', 10, 10, 10, now() - interval '3 h', now() - interval '2 h', NULL),
    (2, 'rep', 'bob', 'running', 3, 1, '{}', 4, 4, 4, now() - interval '1 h', now() - interval '1 h', NULL),
    (3, 'over', 'alice', 'finished', 4, 1, '{}', 2, 2, 2, now() - interval '1 day', now() - interval '1 day', now()),
    (4, 'new', 'carol', 'submitting', NULL, NULL, '{}', 0, 0, 0, NULL, NULL, NULL);
INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name) VALUES
    (1, 5, 0, 2, 0, 3, 0, 0, 'alice'), (2, 3, 1, 0, 0, 0, 0, 0, 'bob'), (3, 0, 0, 0, 0, 1, 1, 0, 'alice');

-- Five ready jobs of MC, two more leased, one of Rep waiting and three ready; one that finished at its second attempt, one that failed.
SELECT divvy_extend_jobs(1000, 1000);
INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again) VALUES
    (1, 1, 1, now() - interval '5 h', 2, 1, 900, 3, false), (2, 2, 3, now() - interval '5 h', 4, 1, 0, 1, false),
    (11, 17, 1, now() - interval '3 h', 2, 1, 900, 3, false), (21, 24, 2, now() - interval '1 h', 3, 1, 0, 3, false);
INSERT INTO jobs (id, idx) SELECT i, i FROM unnest('{1,2,11,12,13,14,15,16,17,21,22,23,24}'::bigint[]) AS i;
INSERT INTO held (job, nth, nonce, task, place, units, granted_at, request, attempt, share, shape, queue, start_delay_ms, ttl_s, grace_s, pilot, node, reason)
VALUES
    (11, 5 << 20, 1, 1, -900, 5000, now() - interval '10 min', '00000000-0000-0000-0000-000000000000', 1, 2, 1, 1, 2000, 180, 0, 'p1', 'n1', ''),
    (12, 6 << 20, 2, 1, -900, 2000, now() - interval '5 min', '00000000-0000-0000-0000-000000000000', 1, 2, 1, 2, -1, 180, 0, 'p2', 'n2', '');
INSERT INTO idle_ranges (high, low, task, place, share, shape, attempt, state) VALUES
    (17, 13, 1, -900, 2, 1, 1, 'r'), (21, 21, 2, 0, 3, 1, 1, 'p'), (24, 22, 2, 0, 3, 1, 1, 'r');
INSERT INTO share_counts (share, shape, queue, ready, held, held_units) VALUES
    (2, 1, 0, 5, 0, 0), (2, 1, 1, 0, 1, 5000), (2, 1, 2, 0, 1, 2000), (3, 1, 0, 3, 0, 0);

-- The first one from 10 minutes before a full hour to 20 minutes after the next: three pieces of 10, 60 and 20 minutes.
SELECT divvy_make_history((now() AT TIME ZONE 'UTC')::date - i) FROM generate_series(0, 3) AS i;
INSERT INTO history (job, nonce, task, units, granted_at, ended_at, cpu_ms, attempt, share, shape, queue, start_delay_ms, exit_code, memory_mb, outcome, state,
    pilot, node)
SELECT a.job, a.nonce, a.task, a.units, h.hour - a.granted, h.hour - a.ended, 0, a.attempt, a.share, 1, a.queue, -1, 0, 0, a.outcome, a.state, a.pilot, a.node
FROM (VALUES
    (1, 3, 1, 5000, interval '190 min', interval '100 min', 1, 2, 1, 'l'::"char", 'r'::"char", 'p1', 'n1'),
    (1, 4, 1, 2000, '90 min', '60 min', 2, 2, 2, 'f', 'f', 'p2', 'n2'),
    (2, 5, 3, 2000, '30 min 0.001 s', '30 min', 1, 4, 2, 'x', 'x', 'p2', 'n2'),
    (3, 6, 3, 2000, '2 days', '2 days', 1, 4, 2, 'c', 'c', 'p2', 'n2')
) AS a (job, nonce, task, units, granted, ended, attempt, share, queue, outcome, state, pilot, node),
    date_trunc('hour', now(), 'UTC') AS h (hour);
INSERT INTO attempt_texts (job_id, ended_on, attempt, report)
    SELECT 2, (ended_at AT TIME ZONE 'UTC')::date, 1, '{"pilotErrorCode": 1305, "pilotErrorDiag": "Failed to execute payload"}' FROM history WHERE job = 2;
INSERT INTO judgements (job_id, attempt, note) VALUES (2, 1, 'failed for good: rule bug: no_retry');

-- What the fold makes of these.
CREATE TEMP TABLE used ON COMMIT DROP AS
SELECT p.hour, date_trunc('day', p.hour, 'UTC') AS day, p.share, p.queue, p.task, t.user_name, sum(p.cores * p.ms) AS slot_ms, sum(p.units * p.ms) AS unit_ms,
    coalesce(sum(p.cores * p.ms) FILTER (WHERE p.outcome IN ('x', 'l', 'r')), 0) AS wasted,
    count(*) FILTER (WHERE p.ends AND p.outcome = 'f') AS finished, count(*) FILTER (WHERE p.ends AND p.outcome = 'x') AS failed,
    count(*) FILTER (WHERE p.ends AND p.outcome = 'l') AS lost, count(*) FILTER (WHERE p.ends AND p.outcome = 'c') AS cancelled
FROM attempt_pieces p
JOIN tasks t ON t.id = p.task
WHERE p.ms > 0 OR p.ends
GROUP BY p.hour, p.share, p.queue, p.task, t.user_name;
INSERT INTO hour_usage (hour, share, queue, user_name, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
    SELECT hour, share, queue, user_name, sum(slot_ms), sum(unit_ms), sum(wasted), 0, sum(finished), sum(failed), sum(lost), sum(cancelled), 0
    FROM used GROUP BY hour, share, queue, user_name;
INSERT INTO day_usage (day, share, queue, user_name, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
    SELECT day, share, queue, user_name, sum(slot_ms), sum(unit_ms), sum(wasted), 0, sum(finished), sum(failed), sum(lost), sum(cancelled), 0
    FROM used GROUP BY day, share, queue, user_name;
INSERT INTO task_usage (day, share, task, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
    SELECT day, share, task, sum(slot_ms), sum(unit_ms), sum(wasted), 0, sum(finished), sum(failed), sum(lost), sum(cancelled), 0
    FROM used GROUP BY day, share, task;

-- MC held 4 and then 6 units of promised 5 and 7, Test nothing of 1.
SELECT divvy_make_day('share_samples', (now() AT TIME ZONE 'UTC')::date - i) FROM generate_series(1, 2) AS i;
INSERT INTO share_samples (at, pool, share_id, target, held, ready)
    SELECT now() - make_interval(secs => s.ago), 'default', s.share_id, s.target, s.held, 1
    FROM (VALUES (2, 300, 5, 4000), (2, 200, 7, 6000), (2, 100, 7, 6000), (4, 300, 1, 0), (4, 100, 1, 0),
        (1, 300, 5, 4000), (2, 90000, 9, 9000)) AS s (share_id, ago, target, held);

-- Three batches of the log, of which two are folded: a second ago two grants, one of MC and one of Test; then a third.
INSERT INTO daemons (id, host, pid) OVERRIDING SYSTEM VALUE VALUES (1, 'h', 1);
SELECT divvy_extend_batches(100, 100);
INSERT INTO batches (seq, id, after, at, by, kinds, granted_jobs, granted_attempts, granted_nonces, granted_tasks, granted_shares, granted_shapes, granted_places,
    granted_queues, granted_units, granted_pilots, granted_nodes) VALUES
    (6, gen_random_uuid(), gen_random_uuid(), now() - interval '2 s', 1, 't', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (7, gen_random_uuid(), gen_random_uuid(), now() - interval '1 s', 1, 'gg', '{12,2}', '{1}', '{2,5}', '{1,3}', '{2,4}', '{1}', '{-900,0}', '{2}', '{2000}', '{p2}', '{n2}'),
    (8, gen_random_uuid(), gen_random_uuid(), now() - interval '0.5 s', 1, 'g', '{11}', '{1}', '{1}', '{1}', '{2}', '{1}', '{-900}', '{1}', '{5000}', '{p1}', '{n1}');
UPDATE folded SET seq = 7, at = now() - interval '1 s';
