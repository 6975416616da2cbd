-- The same jobs as PanDA keeps them: bound to a site, in one table, ready and held alike.
CREATE TABLE panda_shares (share int PRIMARY KEY, target double precision NOT NULL);
CREATE TABLE panda_jobs (
    id       bigint PRIMARY KEY,
    share    int NOT NULL,
    site     int NOT NULL,
    status   text NOT NULL,
    priority int NOT NULL,
    units    bigint NOT NULL,
    pilot    text NOT NULL DEFAULT '',
    modified timestamptz NOT NULL DEFAULT now(),
    body     text NOT NULL
);
INSERT INTO panda_jobs (id, share, site, status, priority, units, body)
SELECT id, share, id % 20, status, 0, 1000, repeat('x', 300)
FROM (
    SELECT generate_series(low, high) AS id, share, 'activated' AS status FROM idle_ranges
    UNION ALL
    SELECT job, share, 'running' FROM held
) j;
CREATE INDEX ON panda_jobs (site, share, priority DESC, id) WHERE status = 'activated';
CREATE INDEX ON panda_jobs (share) WHERE status IN ('sent', 'starting', 'running');
