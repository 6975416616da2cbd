-- The oldest checkpoint after a batch.
SELECT packed FROM replay_checkpoints WHERE seq > @seq::bigint ORDER BY seq LIMIT 1;
