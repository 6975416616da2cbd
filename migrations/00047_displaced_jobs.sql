-- The ready jobs of a share and shape are found in their order by ranges of ids, of which a batch has one for each share, shape and place.
-- An entry for each job in jobs_ready was searched for from its root, and was two thirds of what the indexes of a generated job cost.
-- Jobs that are in no such range have an index of their own: those of before, those that went to another share, shape or place, or
-- waited, and those that daemons of before and people make, who do not say that they noted a range.

-- +goose Up
CREATE TABLE ready_ranges (
    share_id integer NOT NULL,
    shape_id integer NOT NULL,
    place bigint NOT NULL,
    low bigint NOT NULL,
    high bigint NOT NULL,
    PRIMARY KEY (share_id, shape_id, place, high),
    CHECK (low <= high)
) WITH (autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE ready_ranges IS 'Between which ids jobs are that were made ready in a share, shape and place. Those of one share, shape and place do not overlap; other jobs may lie between. Ranges without such a job go later.';
COMMENT ON COLUMN ready_ranges.share_id IS 'Share of the jobs.';
COMMENT ON COLUMN ready_ranges.shape_id IS 'Shape of the jobs.';
COMMENT ON COLUMN ready_ranges.place IS 'Place of the jobs in the ready order.';
COMMENT ON COLUMN ready_ranges.low IS 'The least id, of the range.';
COMMENT ON COLUMN ready_ranges.high IS 'The largest id, of the range.';

ALTER TABLE jobs ADD COLUMN displaced boolean DEFAULT true;
COMMENT ON COLUMN jobs.displaced IS 'It is not where it was made, in a range of ready_ranges: it went to another share, shape or place, waited, or was made without one. NULL: ready_ranges has it.';

-- +goose StatementBegin
CREATE FUNCTION displace_job() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.displaced := true;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION displace_job() IS 'A job that goes to another share, shape, place or state is found by jobs_displaced from then on.';
CREATE TRIGGER displace_job BEFORE UPDATE OF share_id, shape_id, place, state ON jobs
    FOR EACH ROW WHEN (OLD.displaced IS NOT TRUE AND (OLD.share_id, OLD.shape_id, OLD.place, OLD.state) IS DISTINCT FROM (NEW.share_id, NEW.shape_id, NEW.place, NEW.state))
    EXECUTE FUNCTION displace_job();

-- +goose Down
DROP TRIGGER displace_job ON jobs;
DROP FUNCTION displace_job();
ALTER TABLE jobs DROP COLUMN displaced;
DROP TABLE ready_ranges;
