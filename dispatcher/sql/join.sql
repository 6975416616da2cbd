-- A daemon's row; its lanes begin at 0.
INSERT INTO daemons (host, pid, address, secret, version) VALUES (@host::text, @pid::int, @address::text, @secret::text, @version::text) RETURNING id;
