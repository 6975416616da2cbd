-- So many jobs, in the order of their ids.
INSERT INTO jobs (id, idx) SELECT id, id % 1000 FROM generate_series(@first::bigint, @first::bigint + @n::int - 1) AS id;
