-- The fence: no row when somebody has generated for the share since the decision was made. The row stays locked
-- until the batch commits.
INSERT INTO generations AS g (share_id, epoch) VALUES (@share::int, 1)
ON CONFLICT (share_id) DO UPDATE SET epoch = g.epoch + 1, at = now() WHERE g.epoch = @epoch::bigint
RETURNING epoch;
