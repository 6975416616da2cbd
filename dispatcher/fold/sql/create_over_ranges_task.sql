-- Those of a task, in the order of the log.
CREATE INDEX over_ranges_task ON over_ranges (task, nth, low);
