-- end.sql for a batch in which every attempt finished, as most do: the jobs are over, whatever was ordered, and none
-- comes back. A lease that is not there any more, or belongs to a later attempt, is left alone. Jobs are
-- locked first as there.
WITH results AS (
    SELECT *
    FROM unnest(@jobs::bigint[], @attempts::int[], @nonces::bigint[], @exit_codes::int[], @messages::text[],
            @cpu_s::float8[], @memory_mb::bigint[], @outputs::jsonb[], @tails::text[], @reports::jsonb[])
        AS r (job_id, attempt, nonce, exit_code, message, cpu_s, memory_mb, outputs, log_tail, report)
), locked AS (
    SELECT id FROM jobs WHERE id = ANY (@jobs::bigint[]) ORDER BY id FOR UPDATE
), gone AS (
    DELETE FROM leases l USING results r, locked j
    WHERE l.job_id = ANY (@jobs::bigint[]) AND l.job_id = j.id AND l.job_id = r.job_id AND l.attempt = r.attempt AND l.nonce = r.nonce
    RETURNING l.job_id, l.attempt, l.nonce, l.task_id, l.share_id, l.shape_id, l.queue_id, l.units, l.cores, l.priority,
        l.pilot, l.node, l.claimed_at, l.started_at, r.exit_code, r.message,
        greatest(l.cpu_s, r.cpu_s) AS cpu_s, greatest(l.memory_mb, r.memory_mb) AS memory_mb, r.outputs, r.log_tail,
        r.report, coalesce(l.reported, false) AS reported
), kept AS (
    INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
        claimed_at, started_at, outcome, exit_code, message, cpu_s, memory_mb, outputs, log_tail, report)
    SELECT job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
        claimed_at, started_at, 'finished', exit_code, message, cpu_s, memory_mb, outputs, log_tail,
        CASE WHEN NOT reported THEN report ELSE divvy_merge_reports((SELECT s.report FROM lease_reports s
            WHERE s.job_id = g.job_id AND s.attempt = g.attempt), report) END
    FROM gone g
), over AS (
    DELETE FROM jobs j USING gone g
    WHERE j.id = ANY (@jobs::bigint[]) AND j.id = g.job_id
    RETURNING j.*
), left_claims AS (
    -- Jobs without claims, as most are, cost nothing here.
    SELECT u.id, count(*)::int AS n
    FROM (SELECT unnest(o.claims) AS id FROM over o WHERE o.claims IS NOT NULL) u
    GROUP BY u.id
), locked_claims AS (
    SELECT id FROM resource_claims WHERE id = ANY (ARRAY(SELECT id FROM left_claims)) ORDER BY id FOR UPDATE
), lowered AS (
    UPDATE resource_claims c SET sharers = c.sharers - u.n, idle_since = CASE WHEN c.sharers = u.n THEN now() END,
        changed = pg_current_xact_id()
    FROM left_claims u JOIN locked_claims USING (id)
    WHERE c.id = ANY (ARRAY(SELECT id FROM left_claims)) AND c.id = u.id
), archived AS (
    INSERT INTO ended_jobs (id, task_id, share_id, shape_id, priority, state, attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at, scaled_away)
    SELECT id, task_id, share_id, shape_id, priority, 'finished', attempt, max_attempts, idx, inputs,
        first_event, n_events, retry_of, created_at, scaled_away
    FROM over
), logged AS (
    INSERT INTO ledger (daemon_id, lane, seq, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units,
        places, low_ids, high_ids)
    SELECT @daemon::bigint, @lane::int, @seq::bigint, array_agg(task_id), array_agg(share_id), array_agg(shape_id),
        array_agg(queue_id), '{l}', '{f}', '{1}', array_agg(units), '{0}', '{0}', '{0}'
    FROM gone
    HAVING count(*) > 0
)
SELECT job_id, nonce, task_id, share_id, shape_id, queue_id, units, 'finished' AS outcome, 'f' AS after, 0::bigint AS place,
    'finished' AS job_state, reported, 'finished' AS recorded
FROM gone;
