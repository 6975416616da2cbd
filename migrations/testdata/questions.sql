-- On top of report.sql: what the other questions of docs/reporting.md are about.
UPDATE history SET cpu_ms = 1800000 WHERE job = 1 AND attempt = 2;
INSERT INTO wait_hours (hour, share_id, queue_id, bucket, jobs, wait_seconds)
    SELECT date_trunc('hour', now(), 'UTC') - interval '1 hour', 2, 1, w.bucket, w.jobs, w.jobs * w.seconds
    FROM (VALUES (0, 60, 0.5), (3, 36, 6), (8, 4, 150)) AS w (bucket, jobs, seconds);
-- MC was given half of what it was promised, Rep all, Test nothing.
INSERT INTO fairness_hours (hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds)
    SELECT date_trunc('hour', now(), 'UTC') - interval '1 hour', 'default', f.share_id, 3600, f.target * 3600, f.held * 3600,
        (f.target - f.held) * 3600, f.starved, 3600
    FROM (VALUES (2, 40, 20, 0), (3, 30, 30, 0), (4, 10, 0, 3600)) AS f (share_id, target, held, starved);
INSERT INTO latest (kind, key, name, entry) VALUES ('p', 2, '', '{"queue": 2, "is": true}');
INSERT INTO black_holes (queue_id, ends, fails, probe_s) VALUES (1, 40, 39, 60);
INSERT INTO task_deadlines (task_id, deadline, late_risk, eta, seen_at) VALUES
    (1, now() + interval '1 hour', 'high', now() + interval '2 hours', now()), (2, now() + interval '1 day', 'low', now() + interval '2 hours', now());
UPDATE site_versions SET share_ids = '{"Production": 1, "Production/MC": 2, "Old": 5}' WHERE version = 1;
INSERT INTO site_versions (version, applied_by, note, source, share_ids, queue_ids) VALUES
    (2, 'ann', 'a test share', '', '{"Production": 1, "Production/MC": 2, "Test": 4}', '{"CERN": 1}');
INSERT INTO share_samples (at, pool, share_id, target, held, ready, deserved, lent, borrowed) VALUES
    (now() - interval '9 min', 'default', 2, 50, 50000, 0, 50, NULL, NULL), (now() - interval '8 min', 'default', 2, 10, 10000, 0, 50, 40, NULL),
    (now() - interval '9 min', 'default', 3, 30, 30000, 0, 30, NULL, NULL), (now() - interval '8 min', 'default', 3, 70, 70000, 0, 30, NULL, 40);
