-- Whether there is an attempt that ended before these days and is not in the roll-ups.
SELECT EXISTS (
    SELECT FROM attempts a
    WHERE a.ended_at < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
        AND a.nth BETWEEN (SELECT done + 1 FROM usage_state) AND 9223372036854775807
) OR EXISTS (
    SELECT FROM attempts a
    WHERE (SELECT past FROM usage_state) AND a.ended_at < ((now() AT TIME ZONE 'UTC')::date - @keep::int)::timestamp AT TIME ZONE 'UTC'
        AND a.nth IS NULL AND a.ended_at >= (SELECT coalesce(past_day::timestamp AT TIME ZONE 'UTC', '-infinity') FROM usage_state)
);
