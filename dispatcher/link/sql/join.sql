-- A daemon that starts, with an id that none had before. An earlier start at its address is over.
WITH before AS (
    UPDATE daemons SET closed_at = now() WHERE address = @address::text AND address <> '' AND closed_at IS NULL
)
INSERT INTO daemons (host, pid, address, secret, version)
VALUES (@host::text, @pid::int, @address::text, @secret::text, @version::text) RETURNING id
