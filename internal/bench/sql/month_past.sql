-- Attempts without a number are those from before there were roll-ups, which are not in them yet.
UPDATE usage_state SET past = ((now() AT TIME ZONE 'UTC')::date - @days::int)::timestamp AT TIME ZONE 'UTC', past_last = date_trunc('hour', now(), 'UTC');
