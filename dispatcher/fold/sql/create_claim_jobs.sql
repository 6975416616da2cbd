-- Which jobs are of which party: ranges of ids, disjoint, those that are over among them.
CREATE TABLE claim_jobs (
    low   bigint PRIMARY KEY,
    high  bigint NOT NULL CHECK (low <= high),
    party bigint NOT NULL,
    place int    NOT NULL -- in the order in which they joined their party
) WITH (fillfactor = 90);
