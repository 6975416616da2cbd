-- Claims that were made or have changed.
INSERT INTO claims AS c (id, task, key, state, queue, node, devices, share, sharers, jobs, missing, made_at, bound_at, idle_since, look_at, ended_at,
    sharing_id, label, template, saved)
SELECT id, task, key, state, queue, node, devices::text[], share, sharers, jobs, missing, 'epoch'::timestamptz + made_us * interval '1 microsecond',
    'epoch'::timestamptz + nullif(bound_us, 0) * interval '1 microsecond', 'epoch'::timestamptz + nullif(idle_us, 0) * interval '1 microsecond',
    'epoch'::timestamptz + nullif(look_us, 0) * interval '1 microsecond', 'epoch'::timestamptz + nullif(ended_us, 0) * interval '1 microsecond', sharing_id, label, template::jsonb, saved::jsonb
FROM unnest(@id::bigint[], @task::bigint[], @key::text[], @state::text[], @queue::int[], @node::text[], @devices::text[], @share::int[],
        @sharers::int[], @jobs::int[], @missing::boolean[], @made_us::bigint[], @bound_us::bigint[], @idle_us::bigint[], @look_us::bigint[],
        @ended_us::bigint[], @sharing_id::text[], @label::text[], @template::text[], @saved::text[])
    AS r (id, task, key, state, queue, node, devices, share, sharers, jobs, missing, made_us, bound_us, idle_us, look_us, ended_us, sharing_id, label,
        template, saved)
ON CONFLICT (id) DO UPDATE SET task = excluded.task, key = excluded.key, state = excluded.state, queue = excluded.queue, node = excluded.node,
    devices = excluded.devices, share = excluded.share, sharers = excluded.sharers, jobs = excluded.jobs, missing = excluded.missing,
    made_at = excluded.made_at, bound_at = excluded.bound_at, idle_since = excluded.idle_since, look_at = excluded.look_at,
    ended_at = excluded.ended_at, sharing_id = excluded.sharing_id, label = excluded.label, template = excluded.template, saved = excluded.saved;
