-- The newest checkpoint that is not after a moment, else the oldest of all. There are some hundreds.
SELECT packed FROM replay_checkpoints ORDER BY at <= @at::timestamptz DESC, abs(extract(epoch FROM at - @at::timestamptz)), seq DESC LIMIT 1;
