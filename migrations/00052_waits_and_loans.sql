-- Waits by user took seconds of reading attempts by hand, and who lent and borrowed units was in the daemon's memory alone. Waits
-- begin with the submission from here on.

-- +goose Up
CREATE TABLE user_wait_hours (
    hour timestamptz NOT NULL,
    user_name text NOT NULL,
    bucket int NOT NULL,
    jobs bigint NOT NULL,
    wait_seconds numeric NOT NULL,
    PRIMARY KEY (hour, user_name, bucket)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE user_wait_hours IS 'wait_hours by the user of the task.';
COMMENT ON INDEX user_wait_hours_pkey IS 'Target of upserts, stretches of time.';
COMMENT ON TABLE wait_hours IS 'How long jobs waited from the submission of their task to their first claim, by the hour of that claim, known when the first attempt is over. bucket: how many of divvy_wait_bounds are not above it.';

CREATE VIEW report.user_waits AS
    SELECT w.hour, w.user_name,
        coalesce((public.divvy_wait_bounds())[w.bucket], 0::double precision) AS from_seconds,
        (public.divvy_wait_bounds())[w.bucket + 1] AS to_seconds,
        w.jobs, w.wait_seconds
    FROM public.user_wait_hours w;
COMMENT ON VIEW report.user_waits IS 'How long jobs waited from the submission of their task to their first claim: a row an hour, user and span of waits.';
COMMENT ON COLUMN report.user_waits.hour IS 'Begin of the hour in which they were claimed first. They are known when the first attempt is over.';
COMMENT ON COLUMN report.user_waits.user_name IS 'Whose tasks they were.';
COMMENT ON COLUMN report.user_waits.from_seconds IS 'They waited so long at least.';
COMMENT ON COLUMN report.user_waits.to_seconds IS 'They waited less than this; NULL: no bound.';
COMMENT ON COLUMN report.user_waits.jobs IS 'So many of them; those that try a piece again are not among them.';
COMMENT ON COLUMN report.user_waits.wait_seconds IS 'Sum of their waits.';
COMMENT ON VIEW report.waits IS 'How long jobs waited from the submission of their task to their first claim: a row an hour, share, queue and span of waits.';
COMMENT ON COLUMN report.waits.jobs IS 'So many of them; those that try a piece again are not among them.';

ALTER TABLE share_samples ADD COLUMN deserved real, ADD COLUMN lent real, ADD COLUMN borrowed real;
COMMENT ON COLUMN share_samples.deserved IS 'Units that it would have got if every share had wanted everything; NULL: a sample of before.';
COMMENT ON COLUMN share_samples.lent IS 'Units that it owned and siblings used; NULL: none.';
COMMENT ON COLUMN share_samples.borrowed IS 'Units that siblings owned and it used; NULL: none.';

CREATE VIEW report.loans AS
    SELECT h.at, h.pool, h.share_id, s.path AS share, s.leaf,
        h.deserved::numeric(20, 3) AS deserved_units,
        (h.held / 1000.0)::numeric(20, 3) AS held_units,
        coalesce(h.lent, 0)::numeric(20, 3) AS lent_units,
        coalesce(h.borrowed, 0)::numeric(20, 3) AS borrowed_units
    FROM public.share_samples h
    JOIN public.shares s ON s.id = h.share_id
    WHERE h.deserved IS NOT NULL;
COMMENT ON VIEW report.loans IS 'Samples of what every share lent and borrowed.';
COMMENT ON COLUMN report.loans.at IS 'When the sample was taken.';
COMMENT ON COLUMN report.loans.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.loans.share_id IS 'Stable id of the share.';
COMMENT ON COLUMN report.loans.share IS 'Path of the share as it is called now.';
COMMENT ON COLUMN report.loans.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.loans.deserved_units IS 'Units that it would have got if every share had wanted everything: what it owns and its part of the rest by weight.';
COMMENT ON COLUMN report.loans.held_units IS 'Units that it held. Beyond deserved_units they are parts of others that these did not want.';
COMMENT ON COLUMN report.loans.lent_units IS 'Units that it owned and siblings used.';
COMMENT ON COLUMN report.loans.borrowed_units IS 'Units that siblings owned and it used.';

CREATE VIEW report.loans_now AS
    SELECT n.at, p.pool, s.id AS share_id, s.path AS share, s.leaf,
        n.deserved::numeric(20, 3) AS deserved_units,
        (n.held / 1000.0)::numeric(20, 3) AS held_units,
        coalesce(n.lent, 0)::numeric(20, 3) AS lent_units,
        coalesce(n.borrowed, 0)::numeric(20, 3) AS borrowed_units
    FROM public.shares s
    CROSS JOIN (SELECT DISTINCT q.pool FROM public.queues q WHERE q.removed_in IS NULL) p
    CROSS JOIN LATERAL (
        SELECT h.at, h.deserved, h.held, h.lent, h.borrowed FROM public.share_samples h
        WHERE h.share_id = s.id AND h.pool = p.pool
        ORDER BY h.at DESC LIMIT 1
    ) n
    WHERE s.removed_in IS NULL AND n.deserved IS NOT NULL;
COMMENT ON VIEW report.loans_now IS 'What every share of the tree in force lends and borrows, by the newest sample.';
COMMENT ON COLUMN report.loans_now.at IS 'When the sample was taken.';
COMMENT ON COLUMN report.loans_now.pool IS 'Resource group: the queues that are shared out together.';
COMMENT ON COLUMN report.loans_now.share_id IS 'Stable id of the share.';
COMMENT ON COLUMN report.loans_now.share IS 'Path of the share.';
COMMENT ON COLUMN report.loans_now.leaf IS 'Leaves hold jobs; inner nodes only divide.';
COMMENT ON COLUMN report.loans_now.deserved_units IS 'Units that it would get if every share wanted everything: what it owns and its part of the rest by weight.';
COMMENT ON COLUMN report.loans_now.held_units IS 'Units that it holds. Beyond deserved_units they are parts of others that these do not want.';
COMMENT ON COLUMN report.loans_now.lent_units IS 'Units that it owns and siblings use.';
COMMENT ON COLUMN report.loans_now.borrowed_units IS 'Units that siblings own and it uses.';

CREATE OR REPLACE VIEW report.about AS
    SELECT 4 AS version, u.done AS counted_up_to, u.at AS counted_at, (u.past IS NULL) AS complete, u.rated AS rated_up_to
    FROM public.usage_state u;

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'divvy_reader') THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA report TO divvy_reader;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose Down
CREATE OR REPLACE VIEW report.about AS
    SELECT 3 AS version, u.done AS counted_up_to, u.at AS counted_at, (u.past IS NULL) AS complete, u.rated AS rated_up_to
    FROM public.usage_state u;
DROP VIEW report.loans_now, report.loans;
ALTER TABLE share_samples DROP COLUMN deserved, DROP COLUMN lent, DROP COLUMN borrowed;
COMMENT ON COLUMN report.waits.jobs IS 'So many of them.';
COMMENT ON VIEW report.waits IS 'How long jobs waited from being made to their first claim: a row an hour, share, queue and span of waits.';
COMMENT ON TABLE wait_hours IS 'How long jobs waited from being made to their first claim, by the hour of that claim, known when the first attempt is over. bucket: how many of divvy_wait_bounds are not above it.';
DROP VIEW report.user_waits;
DROP TABLE user_wait_hours;
