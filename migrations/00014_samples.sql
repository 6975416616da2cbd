-- Samples of the shares by day, so that old ones can be dropped. One writer: dispatcher.

-- +goose Up
-- The two views are made again out of their own text, read before the table gets another name: so they read the new
-- one, and keep their comments and rights. What is there becomes the partition of the past, today included; it has the
-- name of its last day, and is dropped when that is over.
-- +goose StatementBegin
DO $$
DECLARE
    now_text     text := pg_get_viewdef('report.shares_now'::regclass);
    history_text text := pg_get_viewdef('report.share_history'::regclass);
    last         date;
    past         text;
BEGIN
    LOCK TABLE share_samples IN ACCESS EXCLUSIVE MODE;
    SELECT (max(at) AT TIME ZONE 'UTC')::date INTO last FROM share_samples;
    ALTER TABLE share_samples RENAME TO share_samples_before;
    ALTER INDEX share_samples_pkey RENAME TO share_samples_before_pkey;
    CREATE TABLE share_samples (
        at       timestamptz NOT NULL,
        pool     text        NOT NULL,
        share_id int         NOT NULL,
        target   double precision NOT NULL,
        held     bigint      NOT NULL,
        ready    bigint      NOT NULL,
        PRIMARY KEY (share_id, pool, at)
    ) PARTITION BY RANGE (at);
    -- Takes what a daemon of the version before writes: it makes no days here.
    CREATE TABLE share_samples_rest PARTITION OF share_samples DEFAULT;
    EXECUTE 'CREATE OR REPLACE VIEW report.shares_now AS ' || now_text;
    EXECUTE 'CREATE OR REPLACE VIEW report.share_history AS ' || history_text;
    IF last IS NULL THEN
        DROP TABLE share_samples_before;
    ELSE
        last := greatest(last, (now() AT TIME ZONE 'UTC')::date);
        past := 'share_samples' || to_char(last, '_YYYYMMDD');
        EXECUTE format('ALTER TABLE share_samples_before RENAME TO %I', past);
        EXECUTE format('ALTER INDEX share_samples_before_pkey RENAME TO %I', past || '_pkey');
        EXECUTE format('ALTER TABLE share_samples ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', past,
            (last + 1)::timestamp AT TIME ZONE 'UTC');
    END IF;
END $$;
-- +goose StatementEnd
COMMENT ON TABLE share_samples IS 'The standing of each share over time: for plots, and for what was promised against what was given.';
COMMENT ON COLUMN share_samples.target IS 'In units; held is in thousandths of a unit.';
COMMENT ON INDEX share_samples_pkey IS 'The newest sample of a share, and its course.';

-- +goose Down
-- +goose StatementBegin
DO $$
DECLARE
    now_text     text := pg_get_viewdef('report.shares_now'::regclass);
    history_text text := pg_get_viewdef('report.share_history'::regclass);
BEGIN
    ALTER TABLE share_samples RENAME TO share_samples_days;
    CREATE TABLE share_samples (LIKE share_samples_days INCLUDING COMMENTS);
    INSERT INTO share_samples SELECT * FROM share_samples_days;
    EXECUTE 'CREATE OR REPLACE VIEW report.shares_now AS ' || now_text;
    EXECUTE 'CREATE OR REPLACE VIEW report.share_history AS ' || history_text;
    DROP TABLE share_samples_days;
    ALTER TABLE share_samples ADD PRIMARY KEY (share_id, pool, at);
END $$;
-- +goose StatementEnd
