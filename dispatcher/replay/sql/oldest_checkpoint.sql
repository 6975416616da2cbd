-- The oldest checkpoint: the log before it is of no use for a replay.
SELECT seq, at FROM replay_checkpoints ORDER BY seq LIMIT 1;
