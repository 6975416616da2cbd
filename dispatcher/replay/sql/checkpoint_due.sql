-- Whether the newest checkpoint is so old that another one is to be kept.
SELECT NOT EXISTS (SELECT FROM replay_checkpoints WHERE at > @at::timestamptz - make_interval(secs => @every_s::float8));
