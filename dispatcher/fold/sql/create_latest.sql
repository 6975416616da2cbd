-- The newest entry of each kind that has no table of its own.
CREATE TABLE latest (
    kind  "char" NOT NULL,
    key   bigint NOT NULL, -- the shape, the queue, the share; 0: none
    name  text   NOT NULL, -- the resource, the pool; empty: none
    entry jsonb  NOT NULL,
    PRIMARY KEY (kind, key, name)
) WITH (fillfactor = 60);
