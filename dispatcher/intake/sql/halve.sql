-- Locked jobs that waited to be split have the first of their inputs and events from now on, and wait no more.
WITH wanted AS (
    SELECT * FROM unnest(@job::bigint[], @keep_inputs::int[], @keep_events::bigint[]) AS w (id, n_inputs, n_events)
), changed AS (
    UPDATE jobs j SET inputs = j.inputs[1:w.n_inputs], first_event = CASE WHEN w.n_events > 0 THEN j.first_event END,
        n_events = nullif(w.n_events, 0)
    FROM wanted w
    WHERE j.id = ANY (@job::bigint[]) AND j.id = w.id
)
DELETE FROM splittings WHERE job_id = ANY (@job::bigint[]);
