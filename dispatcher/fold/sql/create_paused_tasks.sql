-- Tasks whose jobs get no slots.
CREATE TABLE paused_tasks (
    task bigint PRIMARY KEY
);
