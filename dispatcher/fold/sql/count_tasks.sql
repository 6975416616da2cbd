-- Adds to the jobs of tasks.
INSERT INTO task_counts AS t (task, ready, held, waiting, withdrawn, finished, failed, cancelled, user_name)
SELECT task, ready, held, waiting, withdrawn, finished, failed, cancelled, user_name
FROM unnest(@tasks::bigint[], @ready::bigint[], @held::bigint[], @waiting::bigint[], @withdrawn::bigint[], @finished::bigint[],
        @failed::bigint[], @cancelled::bigint[], @users::text[])
    AS c (task, ready, held, waiting, withdrawn, finished, failed, cancelled, user_name)
ON CONFLICT (task) DO UPDATE SET ready = t.ready + excluded.ready, held = t.held + excluded.held, waiting = t.waiting + excluded.waiting,
    withdrawn = t.withdrawn + excluded.withdrawn, finished = t.finished + excluded.finished, failed = t.failed + excluded.failed,
    cancelled = t.cancelled + excluded.cancelled,
    user_name = CASE excluded.user_name WHEN '' THEN t.user_name ELSE excluded.user_name END;
