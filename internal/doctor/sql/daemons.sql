-- Daemons that are open, the eldest first.
SELECT id, host, address, version, extract(epoch FROM now() - seen_at)::float8 AS silent_s FROM daemons WHERE closed_at IS NULL ORDER BY id;
