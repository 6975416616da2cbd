-- The newest entry of each kind that has no table of its own.
CREATE TABLE latest (
    kind  "char" NOT NULL,
    key   bigint NOT NULL, -- the shape, the queue; 0: there is one of the kind
    entry jsonb  NOT NULL,
    PRIMARY KEY (kind, key)
) WITH (fillfactor = 60);
