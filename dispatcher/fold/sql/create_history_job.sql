-- For whoever asks about a job: explain, lists, and a pilot that says once more how an attempt ended. The jobs of a task are ranges of
-- ids: an index on task would cost 66 B of WAL a life, and would not have them in an order.
CREATE INDEX history_job ON history (job);
