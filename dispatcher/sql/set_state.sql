-- Moves locked jobs between waiting and ready; those that a grant has won stay as they are, and those that wait for a retry.
WITH changed AS (
    UPDATE jobs j SET state = @after::text
    WHERE j.id = ANY (@ids::bigint[]) AND j.state = @before::text AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
        AND (@before::text = 'ready' OR NOT EXISTS (SELECT FROM retries r WHERE r.job_id = j.id))
    RETURNING j.id, j.task_id, j.share_id, j.shape_id, j.state, j.place
)
SELECT task_id, share_id, shape_id, state, place, count(*)::int AS n, min(id) AS low_id, max(id) AS high_id
FROM changed GROUP BY task_id, share_id, shape_id, state, place;
