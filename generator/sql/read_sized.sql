-- A task as it was submitted, and what its scouts measured.
SELECT spec, scouted, shape_id, lots IS NOT NULL AS in_lots, scouts IS NOT NULL AND scouted IS NULL AS scouting
FROM tasks WHERE id = @task::bigint;
