-- The ranges of the ready order, see 00047. Whatever makes jobs or moves them waits until this is done.

-- +goose Up
LOCK TABLE jobs IN SHARE ROW EXCLUSIVE MODE;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION note_job_range() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO public.job_ranges (task_id, low, high) VALUES (NEW.task_id, NEW.id, NEW.id) ON CONFLICT DO NOTHING;
    INSERT INTO public.ready_ranges (share_id, shape_id, place, low, high) VALUES (NEW.share_id, NEW.shape_id, NEW.place, NEW.id, NEW.id)
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION note_job_range() IS 'Ranges of one job, for what makes jobs and does not note ranges: daemons before 00045, and statements by hand.';

-- A range goes on over gaps of less than a hundred ids.
UPDATE jobs SET displaced = true WHERE state <> 'ready';
INSERT INTO ready_ranges (share_id, shape_id, place, low, high)
SELECT share_id, shape_id, place, min(id), max(id)
FROM (
    SELECT share_id, shape_id, place, id, count(*) FILTER (WHERE gap) OVER (PARTITION BY share_id, shape_id, place ORDER BY id) AS nth
    FROM (
        SELECT share_id, shape_id, place, id, id - lag(id) OVER (PARTITION BY share_id, shape_id, place ORDER BY id) > 100 AS gap
        FROM jobs WHERE state = 'ready'
    ) along
) ranges
GROUP BY share_id, shape_id, place, nth;

-- +goose Down
TRUNCATE ready_ranges;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION note_job_range() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO public.job_ranges (task_id, low, high) VALUES (NEW.task_id, NEW.id, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION note_job_range() IS 'A range of one job, for what makes jobs and does not note ranges: daemons before 00045, and statements by hand.';
