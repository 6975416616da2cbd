-- Adds to the jobs of tasks.
INSERT INTO task_counts AS t (task, ready, paused, held, waiting, finished, failed, cancelled, begun_at, over_at, user_name)
SELECT task, ready, paused, held, waiting, finished, failed, cancelled, 'epoch'::timestamptz + nullif(begun_us, 0) * interval '1 microsecond',
    'epoch'::timestamptz + nullif(over_us, 0) * interval '1 microsecond', user_name
FROM unnest(@task::bigint[], @ready::bigint[], @paused::bigint[], @held::bigint[], @waiting::bigint[], @finished::bigint[],
        @failed::bigint[], @cancelled::bigint[], @begun_us::bigint[], @over_us::bigint[], @user::text[])
    AS c (task, ready, paused, held, waiting, finished, failed, cancelled, begun_us, over_us, user_name)
ON CONFLICT (task) DO UPDATE SET ready = t.ready + excluded.ready, paused = t.paused + excluded.paused, held = t.held + excluded.held,
    waiting = t.waiting + excluded.waiting, finished = t.finished + excluded.finished, failed = t.failed + excluded.failed,
    cancelled = t.cancelled + excluded.cancelled, begun_at = coalesce(t.begun_at, excluded.begun_at),
    over_at = coalesce(excluded.over_at, t.over_at),
    user_name = CASE excluded.user_name WHEN '' THEN t.user_name ELSE excluded.user_name END;
