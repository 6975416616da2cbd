-- The first ids of blocks ahead of the COPY that uses them; none when a share or a shape does not exist. The name of the sequence
-- is a constant: a block takes 0.45 µs so, and 2.7 with pg_get_serial_sequence.
-- Beside them what places in the ready order follow from: when the jobs become ready, and the aging of their shares. And
-- which of the shares give jobs by fair turn among users, and which of the shapes are those of users. The setting says that add_ranges
-- notes the ranges of these jobs, so that no trigger does it job by job.
SELECT array_agg(nextval('jobs_id_seq')), now(),
    (SELECT jsonb_object_agg(s.id, s.plan->'aging') FROM shares s WHERE s.id = ANY (@shares::int[]) AND s.plan ? 'aging'),
    (SELECT array_agg(s.id) FROM shares s WHERE s.id = ANY (@shares::int[]) AND s.plan->>'within' = 'fair_user'),
    (SELECT array_agg(s.id) FROM shapes s WHERE s.id = ANY (@shapes::int[]) AND s.user_name IS NOT NULL),
    set_config('divvy.job_ranges', 'noted', true)
FROM generate_series(1, @blocks::int)
WHERE NOT EXISTS (SELECT FROM unnest(@shares::int[]) AS w (id) WHERE NOT EXISTS (SELECT FROM shares s WHERE s.id = w.id))
    AND NOT EXISTS (SELECT FROM unnest(@shapes::int[]) AS w (id) WHERE NOT EXISTS (SELECT FROM shapes s WHERE s.id = w.id));
