-- Records of the kind user_wait_hour, as they come out of a file.
INSERT INTO user_wait_hours (hour, user_name, bucket, jobs, wait_seconds)
SELECT r.hour, r.user_name, r.bucket, r.jobs, r.wait_seconds
FROM jsonb_to_recordset(@records::jsonb) AS r (hour timestamptz, user_name text, bucket int, jobs bigint, wait_seconds numeric);
