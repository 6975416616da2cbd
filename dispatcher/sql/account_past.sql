-- The days of attempts that have no number: they are from before there were roll-ups, and none is added any more.
UPDATE usage_state SET past = d.first IS NOT NULL, past_day = d.first, past_last = d.last
FROM (
    SELECT (min(ended_at) AT TIME ZONE 'UTC')::date AS first, (max(ended_at) AT TIME ZONE 'UTC')::date AS last
    FROM attempts WHERE nth IS NULL
) d
WHERE past AND past_day IS NULL
RETURNING past;
