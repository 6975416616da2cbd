-- Adds attempts to the roll-ups: those with a number after done up to upto, and those without one of the hour past, if it
-- is one. The row of usage_state is the proof that each is added once. Users are looked up by the task: a join would read all tasks
-- that there ever were. Rows are written in the order of their keys, side by side. CPU time stays well below what a bigint holds,
-- whatever pilots say: the views add to it what is not counted yet. Returns how many attempts these were.
WITH state AS (
    UPDATE usage_state SET done = @upto::bigint, at = now(),
        past = CASE WHEN @past::timestamptz < past_last THEN @past::timestamptz + interval '1 hour' END,
        past_last = CASE WHEN @past::timestamptz < past_last THEN past_last END
    WHERE done = @done::bigint AND upto >= @upto::bigint AND past IS NOT DISTINCT FROM @past::timestamptz
    RETURNING only_row
), pieces AS MATERIALIZED (
    SELECT hour, day, share_id, queue_id, task_id, sum(cores * us) * 0.000001 AS slot_seconds, sum(units * us) * 0.000000001 AS unit_seconds,
        coalesce(sum(cores * us) FILTER (WHERE outcome IN ('failed', 'lost', 'revoked')), 0) * 0.000001 AS wasted_slot_seconds,
        sum(cpu_ms)::bigint AS cpu_ms, sum(finished) AS finished, sum(failed) AS failed,
        sum(lost) AS lost, sum(cancelled) AS cancelled, sum(revoked) AS revoked
    FROM ( -- whole numbers are added up much faster than fractions are
        SELECT p.* FROM attempt_pieces p WHERE @past::timestamptz IS NULL AND p.nth > @done::bigint AND p.nth <= @upto::bigint
        UNION ALL
        SELECT p.* FROM attempt_pieces p
        WHERE p.nth IS NULL AND p.ended_at >= @past::timestamptz AND p.ended_at < @past::timestamptz + interval '1 hour'
    ) p
    GROUP BY hour, day, share_id, queue_id, task_id
), users AS MATERIALIZED (
    SELECT p.task_id, coalesce((SELECT t.user_name FROM tasks t WHERE t.id = p.task_id), '') AS user_name
    FROM (SELECT DISTINCT task_id FROM pieces) p
), by_hour AS (
    INSERT INTO usage_hours AS u (hour, share_id, queue_id, user_name, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished,
        failed, lost, cancelled, revoked)
    SELECT p.hour, p.share_id, p.queue_id, t.user_name, sum(p.slot_seconds), sum(p.unit_seconds), sum(p.wasted_slot_seconds),
        sum(p.cpu_ms), sum(p.finished), sum(p.failed), sum(p.lost), sum(p.cancelled), sum(p.revoked)
    FROM state CROSS JOIN pieces p JOIN users t USING (task_id)
    GROUP BY p.hour, p.share_id, p.queue_id, t.user_name
    ORDER BY p.hour, p.share_id, p.queue_id, t.user_name
    ON CONFLICT (hour, share_id, queue_id, user_name) DO UPDATE SET slot_seconds = u.slot_seconds + excluded.slot_seconds,
        unit_seconds = u.unit_seconds + excluded.unit_seconds, wasted_slot_seconds = u.wasted_slot_seconds + excluded.wasted_slot_seconds,
        cpu_ms = least(u.cpu_ms + excluded.cpu_ms, 4000000000000000000), finished = u.finished + excluded.finished, failed = u.failed + excluded.failed,
        lost = u.lost + excluded.lost, cancelled = u.cancelled + excluded.cancelled, revoked = u.revoked + excluded.revoked
), by_day AS (
    INSERT INTO usage_days AS u (day, share_id, queue_id, user_name, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished,
        failed, lost, cancelled, revoked)
    SELECT p.day, p.share_id, p.queue_id, t.user_name, sum(p.slot_seconds), sum(p.unit_seconds), sum(p.wasted_slot_seconds),
        sum(p.cpu_ms), sum(p.finished), sum(p.failed), sum(p.lost), sum(p.cancelled), sum(p.revoked)
    FROM state CROSS JOIN pieces p JOIN users t USING (task_id)
    GROUP BY p.day, p.share_id, p.queue_id, t.user_name
    ORDER BY p.day, p.share_id, p.queue_id, t.user_name
    ON CONFLICT (day, share_id, queue_id, user_name) DO UPDATE SET slot_seconds = u.slot_seconds + excluded.slot_seconds,
        unit_seconds = u.unit_seconds + excluded.unit_seconds, wasted_slot_seconds = u.wasted_slot_seconds + excluded.wasted_slot_seconds,
        cpu_ms = least(u.cpu_ms + excluded.cpu_ms, 4000000000000000000), finished = u.finished + excluded.finished, failed = u.failed + excluded.failed,
        lost = u.lost + excluded.lost, cancelled = u.cancelled + excluded.cancelled, revoked = u.revoked + excluded.revoked
), by_task AS (
    INSERT INTO usage_tasks AS u (day, task_id, share_id, slot_seconds, unit_seconds, wasted_slot_seconds, cpu_ms, finished, failed, lost,
        cancelled, revoked)
    SELECT p.day, p.task_id, p.share_id, sum(p.slot_seconds), sum(p.unit_seconds), sum(p.wasted_slot_seconds), sum(p.cpu_ms),
        sum(p.finished), sum(p.failed), sum(p.lost), sum(p.cancelled), sum(p.revoked)
    FROM state CROSS JOIN pieces p
    GROUP BY p.day, p.task_id, p.share_id
    ORDER BY p.day, p.task_id, p.share_id
    ON CONFLICT (day, task_id, share_id) DO UPDATE SET slot_seconds = u.slot_seconds + excluded.slot_seconds,
        unit_seconds = u.unit_seconds + excluded.unit_seconds, wasted_slot_seconds = u.wasted_slot_seconds + excluded.wasted_slot_seconds,
        cpu_ms = least(u.cpu_ms + excluded.cpu_ms, 4000000000000000000), finished = u.finished + excluded.finished, failed = u.failed + excluded.failed,
        lost = u.lost + excluded.lost, cancelled = u.cancelled + excluded.cancelled, revoked = u.revoked + excluded.revoked
)
SELECT coalesce(sum(finished + failed + lost + cancelled + revoked), 0)::bigint AS attempts, (SELECT count(*) FROM state)::int AS counted
FROM pieces;
