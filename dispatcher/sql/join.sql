-- A daemon's row; its lanes begin at 0.
INSERT INTO daemons (host, pid) VALUES (@host::text, @pid::int) RETURNING id;
