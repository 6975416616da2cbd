-- Ends attempts: lease → attempts, and the job → ended_jobs, back to ready, or to waiting until it is judged. A lease that is not there any more,
-- or belongs to a later attempt, is left alone; "lost" needs a lease that has run out, "reclaimed" one whose pilot was
-- told to give its units back and has had its grace.
-- A job is over when it finished, when a cancel order stood at its lease, when its task was scaled down and does not want it
-- any more, or when its attempts are used up. A
-- revoked attempt is not charged: the number rises, since it is the fence, and the bound rises with it. An attempt that
-- was to give its units back, and did not finish after its pilot was told so, is revoked, unless it was killed as well.
-- A failed or lost attempt is judged where a rule may be about it, where its task has terms, or where it may have been lost too
-- often in a row; then its job has a row of retries.
-- Jobs are locked before their leases go, as grants do: one decided on old news has the job's row and waits for
-- the lease that is being deleted, and must not be waited for in turn.
WITH results AS (
    SELECT *
    FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @outcomes::text[], @exit_codes::int[], @messages::text[],
            @cpu_s::float8[], @memory_mb::bigint[], @outputs::jsonb[], @tails::text[], @reports::jsonb[], @ruled::boolean[])
        AS r (job_id, attempt, nonce, outcome, exit_code, message, cpu_s, memory_mb, outputs, log_tail, report, ruled)
), locked AS (
    -- Whether a job was scaled away while its row was waited for, only this says: the statements below look at it as it was
    -- when they began.
    SELECT id, scaled_away IS NOT NULL AS away FROM jobs WHERE id = ANY (@jobs::bigint[]) ORDER BY id FOR UPDATE
), gone AS (
    DELETE FROM leases l USING results r, locked j
    WHERE l.job_id = ANY (@jobs::bigint[]) AND l.job_id = j.id AND l.job_id = r.job_id AND l.attempt = r.attempt AND l.nonce = r.nonce
        AND (r.outcome <> 'lost' OR l.expires_at <= now())
        AND (r.outcome <> 'reclaimed' OR l.told_at + make_interval(secs => l.reclaim_grace_s + @slack_s::float8) <= now())
    RETURNING l.job_id, l.attempt, l.nonce, l.task_id, l.share_id, l.shape_id, l.queue_id, l.units, l.cores, l.priority,
        l.pilot, l.node, l.claimed_at, l.started_at, l.cancel_reason, r.exit_code, r.message, r.outcome AS said,
        CASE WHEN r.outcome = 'reclaimed' OR r.outcome IN ('cancelled', 'failed') AND l.told_at IS NOT NULL AND l.cancel_reason IS NULL
            THEN 'revoked' ELSE r.outcome END AS outcome,
        greatest(l.cpu_s, r.cpu_s) AS cpu_s, greatest(l.memory_mb, r.memory_mb) AS memory_mb, r.outputs, r.log_tail,
        r.report, coalesce(l.reported, false) AS reported, j.away, r.ruled
), kept AS (
    INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
        claimed_at, started_at, outcome, exit_code, message, cpu_s, memory_mb, outputs, log_tail, report, said)
    SELECT job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
        claimed_at, started_at, outcome, exit_code, message, cpu_s, memory_mb, outputs, log_tail,
        CASE WHEN NOT reported THEN report ELSE divvy_merge_reports((SELECT s.report FROM lease_reports s
            WHERE s.job_id = g.job_id AND s.attempt = g.attempt), report) END,
        nullif(said, outcome)
    FROM gone g
), over AS (
    DELETE FROM jobs j USING gone g
    WHERE j.id = ANY (@jobs::bigint[]) AND j.id = g.job_id
        AND (g.outcome = 'finished' OR g.cancel_reason IS NOT NULL OR g.away OR g.outcome <> 'revoked' AND j.attempt >= j.max_attempts)
    RETURNING j.*, CASE WHEN g.outcome = 'finished' THEN 'finished'
        WHEN g.cancel_reason IS NOT NULL OR g.outcome = 'revoked' OR j.attempt < j.max_attempts THEN 'cancelled' ELSE 'failed' END AS final
), archived AS (
    INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at, scaled_away)
    SELECT id, task_id, share_id, shape_id, priority, final, attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at, scaled_away
    FROM over
), again AS (
    UPDATE jobs j SET attempt = j.attempt + 1, max_attempts = j.max_attempts + (g.outcome = 'revoked')::int,
        state = CASE WHEN g.judged THEN 'waiting' ELSE j.state END
    FROM (
        SELECT x.*, x.outcome <> 'revoked' AND (x.ruled
            OR @quarantine::int > 0 AND x.outcome = 'lost' AND x.attempt >= @quarantine::int
            OR (SELECT p.retry FROM payloads p WHERE p.task_id = x.task_id) IS NOT NULL) AS judged
        FROM gone x WHERE x.outcome <> 'finished'
    ) g
    WHERE j.id = ANY (@jobs::bigint[]) AND j.id = g.job_id AND g.outcome <> 'finished' AND g.cancel_reason IS NULL AND NOT g.away
        AND (g.outcome = 'revoked' OR j.attempt < j.max_attempts)
    RETURNING j.id, j.place, j.claims, j.attempt, g.judged
), to_judge AS (
    INSERT INTO retries (job_id, attempt) SELECT id, attempt - 1 FROM again WHERE judged
    ON CONFLICT (job_id) DO UPDATE SET attempt = excluded.attempt, due_at = excluded.due_at, judged = false, split = false
), left_claims AS (
    -- Jobs without claims, as most are, cost nothing here. Those that come back may have the shape of before.
    SELECT u.id, count(*)::int AS n, bool_or(g.said = 'lost') AS lost, bool_or(u.again) AS again
    FROM (
        SELECT o.id AS job_id, unnest(o.claims) AS id, false AS again FROM over o WHERE o.claims IS NOT NULL
        UNION ALL SELECT a.id, unnest(a.claims), true FROM again a WHERE a.claims IS NOT NULL
    ) u
    JOIN gone g USING (job_id)
    GROUP BY u.id
), locked_claims AS (
    SELECT id FROM resource_claims WHERE id = ANY (ARRAY(SELECT id FROM left_claims)) ORDER BY id FOR UPDATE
), lowered AS (
    UPDATE resource_claims c SET sharers = c.sharers - u.n, idle_since = CASE WHEN c.sharers = u.n THEN now() END,
        lost = u.lost AND c.sharers = u.n, unplaced = c.unplaced OR u.again,
        placed_to = CASE WHEN u.again THEN 0 ELSE c.placed_to END, changed = pg_current_xact_id()
    FROM left_claims u JOIN locked_claims USING (id)
    WHERE c.id = ANY (ARRAY(SELECT id FROM left_claims)) AND c.id = u.id
), ended AS (
    SELECT g.job_id, g.nonce, g.task_id, g.share_id, g.shape_id, g.queue_id, g.units, g.said, g.outcome, g.reported,
        CASE o.final WHEN 'finished' THEN 'f' WHEN 'failed' THEN 'x' WHEN 'cancelled' THEN 'c' ELSE CASE WHEN a.judged THEN 'w' ELSE 'r' END END AS after,
        coalesce(a.place, 0) AS place, coalesce(o.final, CASE WHEN a.judged THEN 'waiting' ELSE 'ready' END) AS job_state
    FROM gone g
    LEFT JOIN over o ON o.id = g.job_id
    LEFT JOIN again a ON a.id = g.job_id
), logged AS (
    INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
        places, low_ids, high_ids)
    SELECT @daemon::bigint, @lane::int, @seq::bigint, array_agg(task_id), array_agg(share_id), array_agg(shape_id),
        array_agg(queue_id), '{l}', array_agg(after), array_agg(n), array_agg(units), array_agg(place),
        array_agg(id), array_agg(id)
    FROM (
        -- Jobs that are ready again stand alone: readers look for each of them.
        SELECT task_id, share_id, shape_id, queue_id, after, place, CASE after WHEN 'r' THEN job_id ELSE 0 END AS id,
            count(*)::int AS n, sum(units)::bigint AS units
        FROM ended GROUP BY task_id, share_id, shape_id, queue_id, after, place, CASE after WHEN 'r' THEN job_id ELSE 0 END
    ) m
    HAVING count(*) > 0
)
SELECT job_id, nonce, task_id, share_id, shape_id, queue_id, units, said AS outcome, after, place, job_state, reported, outcome AS recorded
FROM ended;
