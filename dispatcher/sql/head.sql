-- Whether limits or this daemon are out of date; moved: it joined on another timeline.
SELECT e.epoch, d.closed_at IS NOT NULL AS closed, coalesce(d.timeline <> divvy_timeline(), false) AS moved
FROM limit_epoch e, daemons d
WHERE d.id = @daemon::bigint;
