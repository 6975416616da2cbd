-- What shares have missed, as the daemon that decides wrote it last.
SELECT pool, share_id, lag, remembered, at FROM share_memory;
