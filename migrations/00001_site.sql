-- The site: share tree, queues, resources, tagging rules, by version. One writer: internal/site.

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
COMMENT ON TABLE site_versions IS 'Every site file that was ever applied, as it was written. The largest version is in force.';
COMMENT ON COLUMN site_versions.rollback_of IS 'The version whose file this one brought back; NULL: it is no rollback.';
COMMENT ON COLUMN site_versions.source IS 'The text of the site file.';
COMMENT ON COLUMN site_versions.share_ids IS 'Path to id of every share of this version, so that any version can be rebuilt whatever was renamed since.';
COMMENT ON COLUMN site_versions.queue_ids IS 'Name to id of every queue of this version.';

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
COMMENT ON TABLE shares IS 'The share tree. A share keeps its id for ever, because history refers to it; a share that was removed keeps its row.';
COMMENT ON COLUMN shares.path IS 'Names from the top down, joined by slashes: Production/MC. Unique among the shares in force.';
COMMENT ON COLUMN shares.position IS 'Order among its siblings, as in the site file.';
COMMENT ON COLUMN shares.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN shares.tier IS 'Lower tiers are filled first.';
COMMENT ON COLUMN shares.plan IS 'The rest of what the site file says of the share.';
COMMENT ON COLUMN shares.removed_in IS 'The version of the site that removed it; NULL: it is in force.';
CREATE UNIQUE INDEX shares_path ON shares (path) WHERE removed_in IS NULL;

CREATE TABLE queues (
    id               int    GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text   NOT NULL CHECK (name <> ''),
    pool             text   NOT NULL DEFAULT 'default',
    state            text   NOT NULL DEFAULT 'online' CHECK (state IN ('online', 'drain', 'offline', 'test')),
    slots            int    CHECK (slots >= 0),
    core_power_milli bigint NOT NULL DEFAULT 1000 CHECK (core_power_milli > 0),
    cores            int    CHECK (cores > 0),
    memory_mb        bigint CHECK (memory_mb > 0),
    disk_mb          bigint CHECK (disk_mb > 0),
    walltime_s       bigint CHECK (walltime_s > 0),
    labels           jsonb  NOT NULL DEFAULT '{}',
    prefer           text   NOT NULL DEFAULT '' CHECK (prefer IN ('', 'wide')),
    position         int    NOT NULL,
    removed_in       bigint REFERENCES site_versions (version)
);
COMMENT ON TABLE queues IS 'Places where pilots run. A queue keeps its id for ever, as a share does.';
COMMENT ON COLUMN queues.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN queues.slots IS 'Cores that may run at once; NULL: no limit.';
COMMENT ON COLUMN queues.core_power_milli IS 'Thousandths of a unit that a core of the queue counts.';
COMMENT ON COLUMN queues.cores IS 'Most cores of one job; NULL: no limit. memory_mb, disk_mb and walltime_s likewise.';
COMMENT ON COLUMN queues.prefer IS 'wide: jobs with more cores come first within a leaf.';
COMMENT ON COLUMN queues.removed_in IS 'The version of the site that removed it; NULL: it is in force.';
CREATE UNIQUE INDEX queues_name ON queues (name) WHERE removed_in IS NULL;

CREATE TABLE tag_rules (
    version  bigint NOT NULL REFERENCES site_versions (version),
    position int    NOT NULL,
    match    jsonb  NOT NULL,
    share    text   NOT NULL,
    PRIMARY KEY (version, position)
);
COMMENT ON TABLE tag_rules IS 'The ordered rules of every version of the site that send tasks to shares. The first rule that matches wins.';

CREATE TABLE site_resources (
    version          bigint   NOT NULL REFERENCES site_versions (version),
    position         int      NOT NULL,
    name             text     NOT NULL CHECK (name <> ''),
    capacity         bigint   NOT NULL CHECK (capacity >= 0),
    per_queue        boolean  NOT NULL,
    keyed            boolean  NOT NULL,
    split_by         text     NOT NULL CHECK (split_by IN ('user', 'share', 'label')),
    external_expires interval NOT NULL,
    PRIMARY KEY (version, name)
);
COMMENT ON TABLE site_resources IS 'The resources of every version of the site; those of the largest version are in force. How they are split is in the source of the version.';
COMMENT ON INDEX site_resources_pkey IS 'Resources of a version, and one by its name.';

CREATE TABLE site_later (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    effective_at timestamptz NOT NULL,
    stored_at    timestamptz NOT NULL DEFAULT now(),
    stored_by    text        NOT NULL,
    note         text        NOT NULL DEFAULT '',
    file         text        NOT NULL,
    source       text        NOT NULL,
    moves        jsonb       NOT NULL DEFAULT '{}',
    base_version bigint      NOT NULL,
    state        text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'applied', 'failed', 'cancelled')),
    version      bigint      REFERENCES site_versions (version),
    error        text        NOT NULL DEFAULT '',
    ended_at     timestamptz,
    ended_by     text        NOT NULL DEFAULT '',
    CHECK ((ended_at IS NULL) = (state = 'waiting')),
    CHECK ((version IS NOT NULL) = (state = 'applied'))
);
COMMENT ON TABLE site_later IS 'Site files with the time from which they are to be in force. They are applied in the order of effective_at, then id.';
COMMENT ON COLUMN site_later.moves IS 'Live work of a share that goes: its path to a leaf of the new tree.';
COMMENT ON COLUMN site_later.base_version IS 'The version in force when the file was stored; 0 = none.';
COMMENT ON COLUMN site_later.version IS 'The version that it became, or that had the same file already.';
COMMENT ON COLUMN site_later.error IS 'Why a failed one could not be applied when it was due. It is not tried again.';
CREATE INDEX site_later_due ON site_later (effective_at, id) WHERE state = 'waiting';

-- +goose Down
DROP TABLE site_later, site_resources, tag_rules, queues, shares, site_versions;
