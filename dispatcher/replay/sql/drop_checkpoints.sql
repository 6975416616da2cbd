-- Drops the checkpoints before the newest one that is not after a moment: a replay since then begins with that one.
DELETE FROM replay_checkpoints WHERE seq < (SELECT max(seq) FROM replay_checkpoints WHERE at <= @since::timestamptz);
