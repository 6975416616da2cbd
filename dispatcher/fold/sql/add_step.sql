-- Which tasks a step has changed, and what ended.
INSERT INTO steps (seq, before, since, at, tasks, jobs, attempts)
VALUES (@seq::bigint, @after::bigint, @since::timestamptz, @at::timestamptz, @tasks::bigint[], @jobs::bigint[], @attempts::int[]);
