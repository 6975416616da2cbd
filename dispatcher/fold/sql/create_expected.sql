-- Jobs that generators have still to make.
CREATE TABLE expected (
    share int    NOT NULL,
    shape int    NOT NULL,
    jobs  bigint NOT NULL CHECK (jobs >= 0),
    PRIMARY KEY (share, shape)
) WITH (fillfactor = 60);
