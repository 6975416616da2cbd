-- No hour is rated yet.
INSERT INTO rated (at) VALUES ('-infinity');
