-- Which tasks a step has changed.
INSERT INTO steps (seq, before, since, at, tasks)
VALUES (@seq::bigint, @after::bigint, @since::timestamptz, @at::timestamptz, @tasks::bigint[]);
