-- Claims that are live, and those that ended lately, which have the place and the devices that they had before.
CREATE TABLE claims (
    id         bigint      PRIMARY KEY,
    task       bigint      NOT NULL, -- 0: people made it
    key        text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('pending', 'bound', 'draining', 'released')),
    queue      int         NOT NULL, -- at which it was bound last; 0: it never was, or is anywhere
    node       text        NOT NULL,
    devices    text[]      NOT NULL,
    share      int         NOT NULL, -- that it is charged to; 0: none
    sharers    int         NOT NULL, -- leases
    jobs       int         NOT NULL, -- that hold it or may yet
    missing    boolean     NOT NULL, -- it waits for a template of the site
    made_at    timestamptz NOT NULL,
    bound_at   timestamptz,
    idle_since timestamptz,          -- it is bound and nobody holds it
    look_at    timestamptz,          -- it is unbound then if nobody does
    ended_at   timestamptz,
    sharing_id text        NOT NULL, -- whom its units are counted for,
    label      text        NOT NULL, -- where they are split by label
    template   jsonb       NOT NULL,
    saved      jsonb       NOT NULL  -- all of it, as a start reads it
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
