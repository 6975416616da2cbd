-- The ends of a task in the order of the log, for whoever takes them one after the other. The next entry of a task goes behind all others
-- that it has, so pages are filled.
CREATE INDEX history_task ON history (task, nth);
