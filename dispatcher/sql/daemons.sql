-- Open daemons, and those that joined lately: ids do not commit in order.
SELECT id, closed_at IS NULL AS open, address, secret, pilot_queues FROM daemons WHERE closed_at IS NULL OR id > @after::bigint - 100;
