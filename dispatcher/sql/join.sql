-- A daemon's row; its lanes begin at 0.
INSERT INTO daemons (host, pid, address, secret, version, timeline)
VALUES (@host::text, @pid::int, @address::text, @secret::text, @version::text, divvy_timeline()) RETURNING id;
