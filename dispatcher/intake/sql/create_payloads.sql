-- What the jobs of a task run: the template into which the piece of a job is put.
CREATE TABLE payloads (
    task_id bigint PRIMARY KEY,
    command text[] NOT NULL,
    env     jsonb  NOT NULL,
    matrix  jsonb  NOT NULL,
    roles   jsonb, -- commands of roles that have their own
    retry   jsonb  -- terms of the task for attempts that do not finish; NULL: none
);
