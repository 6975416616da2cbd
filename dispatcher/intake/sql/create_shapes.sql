-- Requirements of jobs, interned: a million jobs of one task share one row.
CREATE TABLE shapes (
    id         int    GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key        bytea  NOT NULL UNIQUE, -- equal requirements have one row
    cores      int    NOT NULL CHECK (cores > 0),
    memory_mb  bigint NOT NULL CHECK (memory_mb >= 0),
    disk_mb    bigint NOT NULL CHECK (disk_mb >= 0),
    walltime_s bigint NOT NULL CHECK (walltime_s >= 0),
    labels     jsonb  NOT NULL,
    queues     text[] NOT NULL, -- selectors: names, globs or labels; empty: any queue
    label      text   NOT NULL DEFAULT '',
    resources  jsonb  NOT NULL DEFAULT '{}', -- units by name
    sharing_id text   NOT NULL DEFAULT '', -- whose part of the resources; empty where it asks for none
    locations  text[], -- storages that have the inputs, sorted; NULL: any
    locality   text   CHECK (locality IN ('required', 'preferred')),
    CONSTRAINT shapes_locations_check CHECK ((locations IS NULL) = (locality IS NULL) AND cardinality(locations) <> 0)
);
