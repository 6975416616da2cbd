-- For whoever asks about a job: explain, and a pilot that says once more how an attempt ended. With the attempt it is smaller than
-- without: PostgreSQL fills the pages of rising ids of many tasks in indexes of two columns only.
CREATE INDEX history_job ON history (job, attempt);
