-- Charges running attempts of one share to another; a trigger notes up to when the old one was charged. Rows that end at this
-- moment are waited for and then gone.
WITH moved AS (
    UPDATE leases SET share_id = @to::int WHERE share_id = @from::int
    RETURNING task_id, shape_id, queue_id, units
)
SELECT task_id, shape_id, queue_id, count(*)::int AS n, sum(units)::bigint AS units
FROM moved GROUP BY task_id, shape_id, queue_id;
