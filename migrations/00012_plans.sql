-- Plans act: windows by the clock, memory of past use, aging.

-- +goose Up
ALTER TABLE limit_epoch ADD COLUMN plans_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN limit_epoch.plans_at IS 'The moment whose plans the limits are of: of each share the window that it falls into, or the base.';

-- Fillfactor and no index but the key: written every few seconds, in place.
CREATE TABLE share_memory (
    pool        text             NOT NULL,
    share_id    int              NOT NULL,
    lag         double precision NOT NULL,
    remembered  double precision NOT NULL,
    at          timestamptz      NOT NULL,
    PRIMARY KEY (pool, share_id)
) WITH (fillfactor = 50);
COMMENT ON COLUMN share_memory.lag IS 'What the share missed, the integral of target - held, in units times seconds.';
COMMENT ON COLUMN share_memory.remembered IS 'The same, fading with its half_life; 0 without one.';
COMMENT ON COLUMN share_memory.at IS 'Up to when both are counted.';

CREATE TABLE place_walk (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    aged     boolean NOT NULL DEFAULT false,
    after    bigint
);
INSERT INTO place_walk DEFAULT VALUES;
COMMENT ON COLUMN place_walk.aged IS 'Whether some share had aging when the limits were last computed.';
COMMENT ON COLUMN place_walk.after IS 'Live jobs up to this id have the places that the plans of their shares give them; NULL: all have.';
COMMENT ON COLUMN jobs.place IS 'Order inside a share: ascending place, then id. -priority, or with aging what shares.Aging makes of it.';

-- +goose Down
COMMENT ON COLUMN jobs.place IS 'Order inside a share: ascending place, then id. place = -priority.';
DROP TABLE place_walk, share_memory;
ALTER TABLE limit_epoch DROP COLUMN plans_at;
