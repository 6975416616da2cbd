-- On top of resources.sql: a claim of alice that holds three units and two devices, others that hold nothing. Job 12 has shape 2.
INSERT INTO claims (id, task, key, state, queue, node, devices, share, sharers, jobs, missing, made_at, bound_at, idle_since, ended_at, sharing_id, label, template, saved)
SELECT c.id, c.task, c.key, c.state, c.queue, c.node, c.devices, c.share, c.sharers, 2, c.missing, now() - interval '1 h', c.bound_at, c.idle_since, c.ended_at,
    CASE WHEN c.task = 2 THEN 'bob' ELSE 'alice' END, '', c.template, '{}'
FROM (VALUES
    (1, 1, '0/pool', 'bound', 1, 'n1', '{gpu:0,gpu:1}'::text[], 2, 2, false, now() - interval '5 min', NULL::timestamptz, NULL::timestamptz,
        '{"Name": "pool", "Resources": {"maya": 3}, "Devices": {"gpu": 2}, "MaxSharers": 4, "Linger": 60000000000, "Gang": true}'::jsonb),
    (2, 1, '1/pool', 'pending', 0, '', '{}', 0, 0, false, NULL, NULL, NULL, '{"Name": "pool", "Resources": {"maya": 3}, "Devices": {"gpu": 2}, "Linger": 60000000000}'),
    (3, 2, 'fast', 'pending', 0, '', '{}', 0, 0, true, NULL, NULL, NULL, '{"Name": "fast", "Resources": null, "Devices": null, "Linger": 60000000000}'),
    (4, 0, 'shelf', 'bound', 2, 'n2', '{}', 0, 0, false, now() - interval '5 min', now(), NULL, '{"Name": "shelf"}'),
    (5, 1, '0/pool', 'released', 1, 'n1', '{}', 2, 0, false, now() - interval '30 min', NULL, now(), '{"Name": "pool", "Node": true, "Linger": 60000000000}')
) AS c (id, task, key, state, queue, node, devices, share, sharers, missing, bound_at, idle_since, ended_at, template);
UPDATE held SET shape = 2, granted_at = now() - interval '5 min', node = 'n2' WHERE job = 12;
