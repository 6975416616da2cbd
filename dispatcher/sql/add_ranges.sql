-- The ranges of ids of a batch of new jobs: by task, and by share, shape and place in the ready order. That is how they are found.
WITH by_task AS (
    INSERT INTO job_ranges (task_id, low, high)
    SELECT * FROM unnest(@tasks::bigint[], @lows::bigint[], @highs::bigint[])
)
INSERT INTO ready_ranges (share_id, shape_id, place, low, high)
SELECT * FROM unnest(@shares::int[], @shapes::int[], @places::bigint[], @firsts::bigint[], @lasts::bigint[]);
