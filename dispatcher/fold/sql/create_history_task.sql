-- For lists of a task. Equal keys share an entry, and the ids of rows rise: a third of an index on (task, job).
CREATE INDEX history_task ON history (task);
