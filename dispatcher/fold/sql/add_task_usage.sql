-- Adds to what attempts cost by the day and task.
INSERT INTO task_usage AS u (day, task, share, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
SELECT to_timestamp(at_ms / 1000), task, share, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned
FROM unnest(@at_ms::bigint[], @task::bigint[], @share::int[], @slot_ms::bigint[], @unit_ms::bigint[], @wasted_ms::bigint[],
        @cpu_milli::bigint[], @finished::bigint[], @failed::bigint[], @lost::bigint[], @cancelled::bigint[],
        @returned::bigint[])
    AS c (at_ms, task, share, slot_ms, unit_ms, wasted_slot_ms, cpu_ms, finished, failed, lost, cancelled, returned)
ON CONFLICT (day, task, share) DO UPDATE SET slot_ms = u.slot_ms + excluded.slot_ms, unit_ms = u.unit_ms + excluded.unit_ms, wasted_slot_ms = u.wasted_slot_ms + excluded.wasted_slot_ms,
    cpu_ms = u.cpu_ms + excluded.cpu_ms, finished = u.finished + excluded.finished, failed = u.failed + excluded.failed,
    lost = u.lost + excluded.lost, cancelled = u.cancelled + excluded.cancelled, returned = u.returned + excluded.returned;
