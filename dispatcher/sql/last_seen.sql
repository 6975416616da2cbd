-- For how many seconds no other daemon was seen; NULL: there never was one.
SELECT extract(epoch FROM now() - max(seen_at))::float8 FROM daemons WHERE id <> @daemon::bigint;
