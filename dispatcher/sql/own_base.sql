-- Up to where this daemon's moves are counted in the limits.
SELECT daemon_id, lane, seq FROM limit_lanes WHERE daemon_id = @daemon::bigint;
