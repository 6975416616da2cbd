-- Whether a job is due to be judged, or to be ready again.
SELECT EXISTS (SELECT FROM retries WHERE due_at <= now() AND NOT split);
