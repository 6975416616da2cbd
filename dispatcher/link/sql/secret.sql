-- What an open daemon wrote when it joined: who knows it works on this database, and not on a copy.
SELECT secret FROM daemons WHERE id = @id::bigint AND closed_at IS NULL
