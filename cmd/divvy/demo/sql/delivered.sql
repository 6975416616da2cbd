-- Slot-seconds of each share inside the window: attempts are cut where it begins and ends. The mean job, the
-- longest one and the counts are those of all attempts of the run.
SELECT share,
    sum(cores * greatest(0, extract(epoch FROM least(ended_at, @until::timestamptz) - greatest(claimed_at, @since::timestamptz))))::float8 AS delivered,
    avg(slot_seconds)::float8 AS mean_job,
    max(slot_seconds)::float8 AS longest_job,
    count(*) FILTER (WHERE outcome = 'finished') AS jobs,
    count(*) FILTER (WHERE outcome <> 'finished') AS failed
FROM report.attempts
WHERE share = ANY (@shares::text[])
GROUP BY share
