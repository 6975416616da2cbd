-- Makes locked jobs that waited for it ready again, or lets them wait on, maybe to be split, in the shapes that they have from now on.
WITH wanted AS (
    SELECT * FROM unnest(@ids::bigint[], @shapes::int[], @ready::boolean[], @waits::float8[], @splits::boolean[])
        AS w (id, shape_id, ready, wait_s, split)
), changed AS (
    UPDATE jobs j SET shape_id = w.shape_id, state = CASE WHEN w.ready THEN 'ready' ELSE j.state END
    FROM wanted w
    WHERE j.id = ANY (@ids::bigint[]) AND j.id = w.id AND (w.ready OR j.shape_id <> w.shape_id)
), put_off AS (
    UPDATE retries r SET judged = true, split = w.split, due_at = now() + make_interval(secs => w.wait_s)
    FROM wanted w WHERE r.job_id = ANY (@ids::bigint[]) AND r.job_id = w.id AND NOT w.ready
)
DELETE FROM retries r USING wanted w WHERE r.job_id = ANY (@ids::bigint[]) AND r.job_id = w.id AND w.ready;
