-- Target slots may be a floor: while a share holds less at a queue, its jobs come first there. A table of its own: to a daemon
-- of the version before it would be a cap in target_slots. Written by package dispatcher.

-- +goose Up
CREATE TABLE target_floors (
    queue      text        NOT NULL CHECK (queue <> ''),
    share_id   int         NOT NULL,
    class      text        NOT NULL,
    slots      int         NOT NULL CHECK (slots >= 0),
    expires_at timestamptz,
    set_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, share_id, class)
);
COMMENT ON TABLE target_floors IS 'Cores up to which jobs come first at a queue: of a share (0: of all), of a class (empty: of all). The queue is named, since it may not be there yet.';
COMMENT ON INDEX target_floors_pkey IS 'Said again, it replaces what was said. A few rows a queue.';

-- A daemon of the version before leaves it empty.
ALTER TABLE decisions ADD COLUMN floors boolean[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN decisions.floors IS 'Whether the winner came before its turn by a floor of the queue; shorter than job_ids: one value for all.';

-- +goose Down
ALTER TABLE decisions DROP COLUMN floors;
DROP TABLE target_floors;
