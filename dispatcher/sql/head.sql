-- Whether limits or this daemon are out of date.
SELECT e.epoch, d.closed_at IS NOT NULL AS closed FROM limit_epoch e, daemons d WHERE d.id = @daemon::bigint;
