-- The site: share tree, queues, tagging rules. One writer: internal/site.

-- +goose Up
CREATE TABLE site_versions (
    version     bigint      PRIMARY KEY CHECK (version > 0),
    applied_at  timestamptz NOT NULL DEFAULT now(),
    applied_by  text        NOT NULL,
    note        text        NOT NULL DEFAULT '',
    rollback_of bigint      REFERENCES site_versions (version),
    source      text        NOT NULL,
    share_ids   jsonb       NOT NULL,
    queue_ids   jsonb       NOT NULL
);
COMMENT ON COLUMN site_versions.share_ids IS 'Path to id of every share of this version, so that any version can be rebuilt whatever was renamed since; queue_ids likewise by name.';
COMMENT ON TABLE site_versions IS 'Every site file that was ever applied, as it was written; the largest version is in force.';

-- A share keeps its id for ever: history refers to it. A removed share keeps its row.
CREATE TABLE shares (
    id         int              GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    parent_id  int              REFERENCES shares (id),
    name       text             NOT NULL CHECK (name <> ''),
    path       text             NOT NULL,
    position   int              NOT NULL,
    leaf       boolean          NOT NULL,
    weight     double precision NOT NULL CHECK (weight >= 0),
    tier       int              NOT NULL DEFAULT 1,
    plan       jsonb            NOT NULL DEFAULT '{}',
    removed_in bigint           REFERENCES site_versions (version)
);
-- One live share a path; removed ones do not count.
CREATE UNIQUE INDEX shares_path ON shares (path) WHERE removed_in IS NULL;

CREATE TABLE queues (
    id               int     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text    NOT NULL CHECK (name <> ''),
    pool             text    NOT NULL DEFAULT 'default',
    state            text    NOT NULL DEFAULT 'online' CHECK (state IN ('online', 'drain', 'offline', 'test')),
    slots            int     CHECK (slots >= 0),
    core_power_milli bigint  NOT NULL DEFAULT 1000 CHECK (core_power_milli > 0),
    cores            int     CHECK (cores > 0),
    memory_mb        bigint  CHECK (memory_mb > 0),
    disk_mb          bigint  CHECK (disk_mb > 0),
    walltime_s       bigint  CHECK (walltime_s > 0),
    labels           jsonb   NOT NULL DEFAULT '{}',
    prefer           text    NOT NULL DEFAULT '' CHECK (prefer IN ('', 'wide')),
    position         int     NOT NULL,
    removed_in       bigint  REFERENCES site_versions (version)
);
CREATE UNIQUE INDEX queues_name ON queues (name) WHERE removed_in IS NULL;
COMMENT ON COLUMN queues.slots IS 'Cores that may run at once; NULL = unlimited.';

-- The ordered rules of every version: the first that matches wins.
CREATE TABLE tag_rules (
    version  bigint NOT NULL REFERENCES site_versions (version),
    position int    NOT NULL,
    match    jsonb  NOT NULL,
    share    text   NOT NULL,
    PRIMARY KEY (version, position)
);

-- +goose Down
DROP TABLE tag_rules, queues, shares, site_versions;
