-- Chains: tasks that need others, as a whole or piece by piece. One writer: generator.

-- +goose Up
ALTER TABLE tasks ADD COLUMN chain text CHECK (chain IN ('open', 'broken')), ADD COLUMN n_released bigint;
COMMENT ON COLUMN tasks.chain IS 'Of tasks whose pieces follow others''. open: more may come; broken: not all came, so that it cannot be done. NULL: neither.';
COMMENT ON COLUMN tasks.n_released IS 'Of tasks whose pieces wait for those of others: how many may be jobs; released_pieces has which. NULL: all may.';
CREATE INDEX tasks_untagged ON tasks (id) WHERE state = 'waiting' AND share_id IS NULL;
COMMENT ON INDEX tasks_untagged IS 'Tasks that wait for a rule, apart from those that wait for tasks; nearly always empty.';

CREATE TABLE task_needs (
    task_id   bigint  NOT NULL,
    place     int     NOT NULL CHECK (place >= 0),
    needs_id  bigint  NOT NULL CHECK (needs_id < task_id),
    condition text    NOT NULL CHECK (condition IN ('done', 'finished', 'any')),
    per_input boolean NOT NULL,
    outputs   text,
    state     text    NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'met', 'broken', 'left')),
    seen      bigint  NOT NULL DEFAULT 0,
    low       bigint  NOT NULL DEFAULT 0,
    after     bigint  NOT NULL DEFAULT 0,
    low_next  bigint,
    was_over  boolean NOT NULL DEFAULT false,
    n_taken   bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, place),
    UNIQUE (task_id, needs_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE task_needs IS 'Which tasks a task needs, and how far what they made is taken note of. Written under the row lock of the task that needs.';
COMMENT ON COLUMN task_needs.needs_id IS 'An older task, so that nobody needs himself in a circle.';
COMMENT ON COLUMN task_needs.outputs IS 'Glob: outputs of its jobs with such names are inputs. NULL: none are.';
COMMENT ON COLUMN task_needs.state IS 'met and broken: it is over, as was asked for or not; left: the task that needs was over first.';
COMMENT ON COLUMN task_needs.seen IS 'How many jobs of it had ended when the last round began.';
COMMENT ON COLUMN task_needs.low IS 'Jobs up to this id have all ended and are taken note of: a round begins behind it.';
COMMENT ON COLUMN task_needs.after IS 'How far the round came; low_next is what low is after it (NULL: no round is under way), was_over whether it was over when the round began.';
CREATE INDEX task_needs_open ON task_needs (task_id, place) WHERE state = 'open';
CREATE INDEX task_needs_needed ON task_needs (needs_id, task_id);

-- Pieces of a needed task that are taken note of, a bit for each index, 8192 in a row.
CREATE TABLE need_pieces (
    task_id bigint NOT NULL,
    place   int    NOT NULL,
    chunk   bigint NOT NULL CHECK (chunk >= 0),
    bits    bytea  NOT NULL CHECK (length(bits) = 1024),
    PRIMARY KEY (task_id, place, chunk)
) WITH (fillfactor = 50);

-- Pieces that may be jobs, in the order in which they may; pieces[1] is the one at position.
CREATE TABLE released_pieces (
    task_id  bigint   NOT NULL,
    position bigint   NOT NULL CHECK (position >= 0),
    pieces   bigint[] NOT NULL CHECK (cardinality(pieces) BETWEEN 1 AND 1000),
    PRIMARY KEY (task_id, position)
);

-- +goose Down
DROP TABLE released_pieces, need_pieces, task_needs;
DROP INDEX tasks_untagged;
ALTER TABLE tasks DROP COLUMN chain, DROP COLUMN n_released;
