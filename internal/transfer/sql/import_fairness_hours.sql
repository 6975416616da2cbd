-- Records of the kind fairness_hour, as they come out of a file.
INSERT INTO fairness_hours (hour, pool, share_id, seconds, target_seconds, held_seconds, missed_seconds, starved_seconds, busy_seconds)
SELECT r.hour, r.pool, r.share_id, r.seconds, r.target_seconds, r.held_seconds, r.missed_seconds, r.starved_seconds, r.busy_seconds
FROM jsonb_to_recordset(@records::jsonb) AS r (hour timestamptz, pool text, share_id int, seconds double precision, target_seconds double precision, held_seconds double precision,
    missed_seconds double precision, starved_seconds double precision, busy_seconds double precision);
