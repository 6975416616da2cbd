-- Splitting to fit: inputs with sizes, events and locations, and tasks whose pieces are cut by weight from a cursor.

-- +goose Up
ALTER TABLE inputs ADD COLUMN sizes bigint[], ADD COLUMN events bigint[],
    ADD CHECK (cardinality(sizes) = cardinality(names)), ADD CHECK (cardinality(events) = cardinality(names));
COMMENT ON COLUMN inputs.position IS 'Of the first of the run; of a lot other than the first from 2^32 x lot on.';
COMMENT ON COLUMN inputs.sizes IS 'Bytes of each, 0 where they are not known; NULL: of none.';
COMMENT ON COLUMN inputs.events IS 'Events of each, 0 where they are not known; NULL: of none.';

ALTER TABLE tasks ADD COLUMN lots int, ADD COLUMN scouts int CHECK (scouts > 0), ADD COLUMN scouted jsonb;
COMMENT ON COLUMN tasks.lots IS 'Its pieces are cut from lots; how many there are. NULL: piece i is the i-th run of per_job inputs or events.';
COMMENT ON COLUMN tasks.scouts IS 'So many pieces are made first, and measured; NULL: none. Until scouted is set n_jobs is no more.';
COMMENT ON COLUMN tasks.scouted IS 'What the scouts measured, and what the task was resized to; NULL: not over, or there were none.';
CREATE INDEX tasks_scouting ON tasks (id) WHERE scouts IS NOT NULL AND scouted IS NULL AND ended_at IS NULL;
COMMENT ON INDEX tasks_scouting IS 'Tasks whose scouts are looked at, twice a second; nearly always few.';
CREATE INDEX tasks_lots ON tasks (id) WHERE lots IS NOT NULL AND ended_at IS NULL;
COMMENT ON INDEX tasks_lots IS 'Live tasks whose pieces are cut from lots: readings of what shares have go by it.';

-- What of a task is cut into pieces alike: all of its events, or the inputs that are in the same locations. Written under the
-- task's row lock.
CREATE TABLE lots (
    task_id     bigint NOT NULL,
    lot         int    NOT NULL CHECK (lot >= 0),
    locations   text[] NOT NULL DEFAULT '{}',
    n           bigint NOT NULL,
    bytes       bigint NOT NULL DEFAULT 0,
    events      bigint NOT NULL DEFAULT 0,
    cut         bigint NOT NULL DEFAULT 0,
    cut_bytes   bigint NOT NULL DEFAULT 0,
    cut_events  bigint NOT NULL DEFAULT 0,
    skip        bigint NOT NULL DEFAULT 0,
    pieces_left bigint NOT NULL DEFAULT 0,
    shape_ids   int[]  NOT NULL DEFAULT '{}',
    PRIMARY KEY (task_id, lot),
    CHECK (cut <= n),
    CHECK ((pieces_left > 0) = (cut < n) OR shape_ids = '{}')
) WITH (fillfactor = 50);
COMMENT ON COLUMN lots.n IS 'Inputs of the lot; of a task without inputs its events.';
COMMENT ON COLUMN lots.events IS 'Of all inputs, one for each that does not say.';
COMMENT ON COLUMN lots.cut IS 'So many inputs, or events, are in pieces that are jobs: the cursor.';
COMMENT ON COLUMN lots.skip IS 'Events of the next input that are in pieces already.';
COMMENT ON COLUMN lots.pieces_left IS 'How many pieces the rest makes: an estimate, at least 1 while there is a rest.';
COMMENT ON COLUMN lots.shape_ids IS 'Shapes of full pieces, the largest first; empty before the commit.';

-- +goose Down
DROP TABLE lots;
DROP INDEX tasks_lots, tasks_scouting;
ALTER TABLE tasks DROP COLUMN lots, DROP COLUMN scouts, DROP COLUMN scouted;
ALTER TABLE inputs DROP COLUMN sizes, DROP COLUMN events;
