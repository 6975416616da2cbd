-- Tables that other rooms write, as far as this one reads them.
CREATE TABLE IF NOT EXISTS job_blocks (low bigint PRIMARY KEY, high bigint NOT NULL, task_id bigint NOT NULL, share_id int NOT NULL, shape_id int NOT NULL,
    priority int NOT NULL, max_attempts int NOT NULL, made_at timestamptz NOT NULL DEFAULT now() - interval '1 hour');
CREATE TABLE IF NOT EXISTS payloads (task_id bigint PRIMARY KEY, retry jsonb);
CREATE TABLE IF NOT EXISTS attempt_texts (job_id bigint NOT NULL, attempt int NOT NULL, ended_on date NOT NULL, report jsonb, log text, outputs jsonb, metadata jsonb, reason text);
CREATE TABLE IF NOT EXISTS outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entries jsonb NOT NULL, made_at timestamptz DEFAULT now(), refused text);
