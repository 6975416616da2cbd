-- Questions to the schema report: psql -f runs all of them. A test runs each on a database with known rows and compares the answers.
-- Roll-ups and counts answer nearly all. Restrict attempts, charges and judgements by ended_at to a few days: days are stored apart.

-- Which shares are furthest below their target now?
-- A share with a deficit and ready jobs gets the next slots that may run them. If the deficit stays, look at what its jobs require.
SELECT path, target_units, held_units, target_units - held_units AS deficit, ready_jobs
FROM report.shares_now
WHERE leaf AND ready_jobs > 0
ORDER BY deficit DESC NULLS LAST, path;

-- Did every share get what it was promised in the last hour?
-- Integrals over the samples: each sample counts until the next one.
SELECT share,
    round(sum(held_units * seconds)) AS delivered_unit_seconds,
    round(sum(target_units * seconds)) AS promised_unit_seconds,
    round(100 * sum(held_units * seconds) / nullif(sum(target_units * seconds), 0), 1) AS percent
FROM (
    SELECT share, target_units, held_units, extract(epoch FROM lead(at) OVER (PARTITION BY share_id, pool ORDER BY at) - at) AS seconds
    FROM report.share_history
    WHERE leaf AND at >= now() - interval '1 hour'
) samples
WHERE seconds IS NOT NULL
GROUP BY share
ORDER BY share;

-- Who used how much in the last seven days, and how much of it failed?
SELECT user_name,
    round(sum(unit_seconds) / 3600, 2) AS unit_hours,
    sum(jobs) AS attempts,
    round(100.0 * sum(failures + lost) / nullif(sum(jobs), 0), 1) AS percent_bad
FROM report.usage_daily
WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7
GROUP BY user_name
ORDER BY unit_hours DESC, user_name;

-- Which tasks run, how far are they, and when will they be through?
-- The estimate takes the pace since the first job started.
SELECT task_id, name, user_name, share,
    round(100.0 * (finished + failed + cancelled) / nullif(total, 0), 1) AS percent,
    failed,
    CASE WHEN finished + failed + cancelled > 0 THEN now() + (now() - started_at) * (total - finished - failed - cancelled) / (finished + failed + cancelled) END AS through_at
FROM report.tasks
WHERE ended_at IS NULL AND started_at IS NOT NULL
ORDER BY through_at DESC NULLS FIRST, task_id;

-- Which nodes break jobs?
SELECT node, queue, sum(jobs) AS attempts, sum(failures) AS failed, sum(lost) AS lost, round(sum(wasted_slot_seconds)) AS slot_seconds_wasted
FROM report.node_usage
WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1
GROUP BY node, queue
HAVING sum(failures + lost) > 0
ORDER BY slot_seconds_wasted DESC, node;

-- With which errors do attempts fail?
-- Of pilots that report such fields, as PanDA's do.
SELECT report->>'pilotErrorCode' AS error, min(report->>'pilotErrorDiag') AS diagnosis, count(*) AS attempts, count(DISTINCT node) AS nodes
FROM report.attempts
WHERE ended_at >= now() - interval '1 day' AND outcome = 'failed'
GROUP BY report->>'pilotErrorCode'
ORDER BY attempts DESC, error;

-- How much did each share use, day by day?
SELECT day, share, round(sum(slot_seconds) / 3600, 1) AS slot_hours, round(sum(unit_seconds) / 3600, 1) AS unit_hours, sum(jobs) AS attempts
FROM report.usage_daily
WHERE day >= (now() AT TIME ZONE 'UTC')::date - 30
GROUP BY day, share
ORDER BY day, share;

-- Which tasks used most in the last week?
SELECT task_id, name, user_name, round(sum(unit_seconds) / 3600, 1) AS unit_hours, sum(jobs) AS attempts
FROM report.task_usage
WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7
GROUP BY task_id, name, user_name
ORDER BY unit_hours DESC, task_id
LIMIT 20;

-- How much has every share used today, with what still runs?
-- What has ended is in the roll-ups; what runs is charged when it ends, and is counted here up to now.
SELECT share, round(sum(slot_seconds) / 3600, 1) AS slot_hours
FROM (
    SELECT share, slot_seconds FROM report.usage_hourly WHERE hour >= date_trunc('day', now(), 'UTC')
    UNION ALL
    SELECT share, cores * extract(epoch FROM now() - greatest(claimed_at, date_trunc('day', now(), 'UTC'))) FROM report.leases
) used
GROUP BY share
ORDER BY slot_hours DESC, share;

-- What runs now, and where?
SELECT share, queue, count(*) AS jobs, sum(cores) AS cores, sum(units) AS units
FROM report.leases
GROUP BY share, queue
ORDER BY units DESC, share, queue;

-- Which jobs have run longest?
SELECT job_id, attempt, user_name, queue, node, age
FROM report.leases
ORDER BY age DESC, job_id
LIMIT 20;

-- How long do jobs wait?
-- half_within and most_within: half, and 95 of 100, of the jobs were claimed within so many seconds. By user: user_name of report.user_waits.
SELECT share, sum(jobs) AS jobs, round(sum(wait_seconds) / sum(jobs), 1) AS mean_seconds,
    min(to_seconds) FILTER (WHERE upto >= 0.5 * total) AS half_within,
    min(to_seconds) FILTER (WHERE upto >= 0.95 * total) AS most_within
FROM (
    SELECT share, to_seconds, jobs, wait_seconds, sum(jobs) OVER (PARTITION BY share ORDER BY from_seconds) AS upto, sum(jobs) OVER (PARTITION BY share) AS total
    FROM report.waits
    WHERE hour >= now() - interval '1 day'
) spans
GROUP BY share
ORDER BY share;

-- Who lent units, and who borrowed?
SELECT share, round(avg(lent_units), 1) AS lent, round(avg(borrowed_units), 1) AS borrowed
FROM report.loans
WHERE at >= now() - interval '1 day'
GROUP BY share
HAVING sum(lent_units + borrowed_units) > 0
ORDER BY share;

-- How fair was each hour?
SELECT hour, pool, jain, round(largest_deviation_units) AS furthest_by, furthest_share, starved_shares
FROM report.fairness
WHERE hour >= now() - interval '1 day'
ORDER BY hour, pool;

-- Which shares got less than they were promised while they had jobs?
SELECT share, round(sum(missed_unit_seconds) / 3600) AS missed_unit_hours,
    round(100 * sum(missed_unit_seconds) / nullif(sum(target_unit_seconds), 0)) AS percent_of_promise
FROM report.share_fairness
WHERE leaf AND hour >= now() - interval '7 days'
GROUP BY share
HAVING sum(missed_unit_seconds) > 0
ORDER BY missed_unit_hours DESC, share;

-- When did a share starve?
SELECT hour, share, round(starved_seconds) AS seconds
FROM report.share_fairness
WHERE leaf AND starved_seconds > 0 AND hour >= now() - interval '7 days'
ORDER BY hour, share;

-- Which queues need somebody?
SELECT queue, state, has_pilots, held_cores, attempts, bad_percent, black_hole_since IS NOT NULL AS black_hole
FROM report.queue_health
WHERE NOT has_pilots OR bad_percent > 20 OR black_hole_since IS NOT NULL OR state <> 'online'
ORDER BY queue;

-- Which shares does a queue serve?
SELECT share, round(100 * sum(slot_seconds) / sum(sum(slot_seconds)) OVER (), 1) AS percent
FROM report.usage_daily
WHERE queue = 'BNL' AND day >= (now() AT TIME ZONE 'UTC')::date - 7
GROUP BY share
HAVING sum(slot_seconds) > 0
ORDER BY percent DESC, share;

-- What became of the jobs of a task?
SELECT state, count(*) AS jobs, min(job_id) AS for_example, max(attempt) AS most_attempts
FROM report.task_jobs
WHERE task_id = 3
GROUP BY state
ORDER BY state;

-- What happened to one job?
SELECT attempt, queue, node, outcome, exit_code, ended_at - claimed_at AS took, round(slot_seconds) AS slot_seconds
FROM report.attempts
WHERE job_id = 1
ORDER BY attempt;

-- Who was charged for an attempt?
SELECT share, sum(slot_seconds) AS slot_seconds, count(*) AS pieces
FROM report.charges
WHERE job_id = 1 AND attempt = 1
GROUP BY share
ORDER BY share;

-- What was made of attempts that failed?
SELECT judged, count(*) AS attempts, count(DISTINCT task_id) AS tasks
FROM report.judgements
WHERE ended_at >= now() - interval '1 day'
GROUP BY judged
ORDER BY attempts DESC, judged;

-- Which decisions gave a job to pilots?
-- seq is the place in the log: divvy sim replay makes the decision again from there, with what it was compared with.
SELECT attempt, seq, share, queue, units
FROM report.decisions
WHERE job_id = 12 AND seq >= report.ledger_seq(now() - interval '1 day')
ORDER BY seq;

-- Who holds units of a resource, and who waits for some?
SELECT resource, sharing_id, held_units, wanted_units
FROM report.resource_holders
WHERE key IS NULL AND queue IS NULL
ORDER BY resource, sharing_id;

-- Which resources are used up, or wanted?
SELECT resource, key, queue, capacity, held_units, wanted_units
FROM report.resources
WHERE held_units >= capacity OR wanted_units > 0
ORDER BY resource, key, queue;

-- Which claims are bound, and to what?
SELECT claim_id, task_id, key, queue, node, sharers
FROM report.resource_claims
WHERE state = 'bound'
ORDER BY claim_id;

-- Which tasks will be late?
SELECT task_id, name, deadline < eta AS late, jobs_left, late_risk
FROM report.deadlines
WHERE late_risk IN ('high', 'late')
ORDER BY deadline, task_id;

-- When did the tree change, and who did it?
SELECT version, applied_by, note, rollback_of, shares, replaced_at IS NULL AS in_force
FROM report.versions
ORDER BY version DESC
LIMIT 20;

-- Which shares came and went between two versions?
SELECT coalesce(a.share, b.share) AS share, a.share IS NULL AS came, b.share IS NULL AS went
FROM (SELECT * FROM report.version_shares WHERE version = 1) a
FULL JOIN (SELECT * FROM report.version_shares WHERE version = 2) b USING (share_id)
WHERE a.share IS DISTINCT FROM b.share
ORDER BY 1;

-- What are the sums of an explanation? (of job 24)
-- divvy job explain solves targets at that moment. This query derives the same from tables, level by level: multiply part from the top
-- down for the weight product. Held and ready are a second behind, targets up to a minute (target_at). With several pools this is their sum.
-- A window of a plan changes the weight that counts, not the column weight.
WITH now AS (
    SELECT *, target_units - held_units AS deficit_units, regexp_replace(path, '/?[^/]*$', '') AS above
    FROM report.shares_now
)
SELECT n.path,
    round((n.weight / nullif((SELECT sum(s.weight) FROM now s WHERE s.above = n.above), 0))::numeric, 6) AS part,
    n.ready_jobs, n.held_units, n.target_units, n.deficit_units,
    1 + (SELECT count(*) FROM now s WHERE s.above = n.above AND s.ready_jobs > 0 AND s.deficit_units > n.deficit_units + 0.000001) AS rank
FROM report.jobs j
JOIN now n ON n.path = j.share OR starts_with(j.share, n.path || '/')
WHERE j.job_id = 24
ORDER BY length(n.path);
