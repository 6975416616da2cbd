-- Records of the kind wait_hour, as they come out of a file.
INSERT INTO wait_hours (hour, share_id, queue_id, bucket, jobs, wait_seconds)
SELECT r.hour, r.share_id, r.queue_id, r.bucket, r.jobs, r.wait_seconds
FROM jsonb_to_recordset(@records::jsonb) AS r (hour timestamptz, share_id int, queue_id int, bucket int, jobs bigint, wait_seconds numeric);
