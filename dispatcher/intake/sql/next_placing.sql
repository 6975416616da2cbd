-- A share whose jobs have not all their places, unless somebody else is at it.
SELECT share_id, aging, after FROM placings WHERE after IS NOT NULL ORDER BY share_id LIMIT 1 FOR UPDATE SKIP LOCKED;
