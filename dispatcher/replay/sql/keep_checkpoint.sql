-- Keeps a checkpoint, unless another daemon has kept one that is as new.
INSERT INTO replay_checkpoints (seq, at, packed)
SELECT @seq::bigint, @at::timestamptz, @packed::bytea
WHERE NOT EXISTS (SELECT FROM replay_checkpoints WHERE at > @at::timestamptz - make_interval(secs => @every_s::float8))
ON CONFLICT (seq) DO NOTHING;
