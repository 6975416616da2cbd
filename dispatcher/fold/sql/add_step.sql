-- Which tasks a step has changed.
INSERT INTO steps (seq, before, at, tasks) VALUES (@seq::bigint, @after::bigint, @at::timestamptz, @tasks::bigint[]);
