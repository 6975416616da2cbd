-- Adds changes to the counts of locked tasks, and moves their states on. It is the only place where a task's state
-- follows from its jobs: running, or scouting, with the first lease; over when all that was generated has ended and nothing
-- more is to come. Done means that every piece has finished, by its first job or by one that tried again; of those that
-- it was scaled away from, nobody wants to know. What follows from scouts that are over says Generator.scout.
-- Of a task that follows others more may come while its chain is open.
WITH summed AS (
    SELECT t.id, t.state AS before, t.n_pieces, t.n_generated, t.n_jobs, t.scaled IS NOT NULL AS scaled,
        t.scouts IS NOT NULL AND t.scouted IS NULL AS scouting, t.chain, d.first_at, d.last_at,
        t.n_waiting + d.waiting AS waiting, t.n_ready + d.ready AS ready, t.n_leased + d.leased AS leased,
        t.n_finished + d.finished AS finished, t.n_failed + d.failed AS failed, t.n_cancelled + d.cancelled AS cancelled
    FROM unnest(@tasks::bigint[], @waitings::bigint[], @readies::bigint[], @leaseds::bigint[], @finisheds::bigint[],
        @faileds::bigint[], @cancelleds::bigint[], @firsts::timestamptz[], @lasts::timestamptz[])
        AS d (id, waiting, ready, leased, finished, failed, cancelled, first_at, last_at)
    JOIN tasks t ON t.id = d.id
), judged AS (
    SELECT s.*, CASE
        WHEN finished + failed + cancelled < n_generated OR before NOT IN
            ('ready', 'scouting', 'running', 'paused', 'throttled', 'exhausted', 'finishing', 'aborting') THEN
            CASE WHEN before = 'ready' AND leased + finished + failed > 0 THEN CASE WHEN scouting THEN 'scouting' ELSE 'running' END ELSE before END
        WHEN before = 'aborting' THEN 'aborted'
        WHEN before = 'exhausted' OR scouting AND before IN ('paused', 'throttled', 'scouting', 'running') THEN before
        WHEN scouting AND before = 'ready' THEN CASE WHEN finished + failed > 0 THEN 'scouting' ELSE before END
        WHEN before <> 'finishing' AND (n_generated < n_jobs OR chain = 'open') THEN
            CASE WHEN before = 'ready' AND leased + finished + failed > 0 THEN CASE WHEN scouting THEN 'scouting' ELSE 'running' END ELSE before END
        WHEN chain IS NULL AND finished + CASE WHEN NOT scaled THEN 0 ELSE (
            SELECT count(*) FROM ended_jobs e WHERE e.task_id = s.id AND e.scaled_away AND e.state <> 'finished') END >= n_pieces THEN 'done'
        WHEN finished = 0 AND before <> 'finishing' THEN 'failed'
        ELSE 'finished'
    END AS after FROM summed s
)
UPDATE tasks t SET n_waiting = j.waiting, n_ready = j.ready, n_leased = j.leased, n_finished = j.finished,
    n_failed = j.failed, n_cancelled = j.cancelled, state = j.after,
    resume_state = CASE WHEN j.after IN ('paused', 'throttled') THEN t.resume_state END,
    sweep = t.sweep AND j.after NOT IN ('done', 'finished', 'failed', 'aborted'),
    started_at = CASE WHEN t.started_at IS NULL AND j.leased + j.finished + j.failed > 0 THEN coalesce(j.first_at, now()) ELSE t.started_at END,
    ended_at = CASE WHEN j.after IN ('done', 'finished', 'failed', 'aborted') THEN coalesce(t.ended_at, j.last_at, now()) END
FROM judged j
WHERE t.id = j.id
RETURNING t.id, j.before, j.after;
