-- For whoever asks about a job: explain, and a pilot that says once more how an attempt ended.
CREATE INDEX history_job ON history (job);
