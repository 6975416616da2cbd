-- Locked jobs that are not wanted any more, whether they run or not.
WITH away AS (
    UPDATE jobs SET scaled_away = true WHERE id = ANY (@ids::bigint[]) RETURNING id
)
SELECT count(*) AS live, count(l.job_id) AS leased FROM away a LEFT JOIN leases l ON l.job_id = a.id;
