-- How far the walks of verbs along the jobs of their tasks have come: each goes on behind an id, begins anew, now or after a
-- rest in which the counts catch up, or is over.
UPDATE tasks t SET sweep = w.sweep, sweep_after = w.after,
    sweep_rest = CASE WHEN w.rest THEN now() + interval '1 second' END
FROM unnest(@tasks::bigint[], @sweeps::boolean[], @afters::bigint[], @rests::boolean[]) AS w (task, sweep, after, rest)
WHERE t.id = w.task;
