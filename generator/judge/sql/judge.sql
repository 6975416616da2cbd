-- Moves the states of locked tasks on, by the counts of their jobs as of folded; those that change come back. It is the only place where a
-- task's state follows from its jobs: running, or scouting, with the first lease; over when all that was generated has ended and nothing
-- more is to come. Done means that every piece has finished, by its first job or by one that tried again; of those that
-- it was scaled away from, nobody wants to know. What follows from scouts that are over says Generator.scout.
-- Of a task that follows others more may come while its chain is open.
WITH counted AS (
    SELECT t.id, t.state AS before, t.n_pieces, t.n_generated, t.n_jobs, t.scaled IS NOT NULL AS scaled,
        t.scouts IS NOT NULL AND t.scouted IS NULL AS scouting, t.chain, c.begun_at, c.over_at, coalesce(c.finished, 0) AS finished,
        coalesce(c.held + c.finished + c.failed, 0) AS leased, coalesce(c.finished + c.failed, 0) AS tried,
        coalesce(c.finished + c.failed + c.cancelled, 0) AS ended
    FROM tasks t LEFT JOIN task_counts c ON c.task = t.id
    WHERE t.id = ANY (@tasks::bigint[])
), judged AS (
    SELECT s.*, CASE
        WHEN ended < n_generated OR before NOT IN
            ('ready', 'scouting', 'running', 'paused', 'throttled', 'exhausted', 'finishing', 'aborting') THEN
            CASE WHEN before = 'ready' AND leased > 0 THEN CASE WHEN scouting THEN 'scouting' ELSE 'running' END ELSE before END
        WHEN before = 'aborting' THEN 'aborted'
        WHEN before = 'exhausted' OR scouting AND before IN ('paused', 'throttled', 'scouting', 'running') THEN before
        WHEN scouting AND before = 'ready' THEN CASE WHEN tried > 0 THEN 'scouting' ELSE before END
        WHEN before <> 'finishing' AND (n_generated < n_jobs OR chain = 'open') THEN
            CASE WHEN before = 'ready' AND tried > 0 THEN CASE WHEN scouting THEN 'scouting' ELSE 'running' END ELSE before END
        WHEN chain IS NULL AND finished + CASE WHEN scaled THEN divvy_unwanted(id) ELSE 0 END >= n_pieces THEN 'done'
        WHEN finished = 0 AND before <> 'finishing' THEN 'failed'
        ELSE 'finished'
    END AS after FROM counted s
)
UPDATE tasks t SET state = j.after, resume_state = CASE WHEN j.after IN ('paused', 'throttled') THEN t.resume_state END,
    started_at = coalesce(t.started_at, j.begun_at),
    ended_at = CASE WHEN j.after IN ('done', 'finished', 'failed', 'aborted') THEN
        coalesce(t.ended_at, CASE WHEN NOT @said::boolean THEN j.over_at END, now()) END
FROM judged j
WHERE t.id = j.id AND (j.after <> j.before OR t.started_at IS NULL AND j.begun_at IS NOT NULL)
RETURNING t.id, j.before, j.after;
