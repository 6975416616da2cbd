-- Nothing is judged yet.
INSERT INTO judged (at, job) VALUES ('epoch', 0);
