-- Queues that fail nearly all that they get while other queues do not. They get a job now and then, until these finish.
CREATE TABLE black_holes (
    queue_id int         PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now(),
    ends     int         NOT NULL, -- attempts that had ended there when it was found
    fails    int         NOT NULL, -- those of them that failed or were lost
    good     int         NOT NULL DEFAULT 0, -- attempts that finished since the last one that did not
    bad_at   timestamptz NOT NULL DEFAULT now(), -- when an attempt there last failed or was lost
    probe_s  int         NOT NULL -- how often it gets a job, as the log has it
);
