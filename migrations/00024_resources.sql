-- Resources: what the site file says of them, capacities set beside it, use reported from outside, and what jobs ask for.

-- +goose Up
-- Written by package site.
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

CREATE TABLE resource_capacities (
    name     text        NOT NULL CHECK (name <> ''),
    key      text        NOT NULL DEFAULT '',
    queue_id int         NOT NULL DEFAULT 0,
    capacity bigint      NOT NULL CHECK (capacity >= 0),
    set_at   timestamptz NOT NULL DEFAULT now(),
    set_by   text        NOT NULL,
    PRIMARY KEY (name, key, queue_id)
);
COMMENT ON TABLE resource_capacities IS 'Capacities that were set while the site works: they go before those of the file until they are reset. key: of a family, empty = all keys; queue_id 0 = all queues.';
COMMENT ON INDEX resource_capacities_pkey IS 'Set again, it replaces what was set. A few rows.';

-- Written by package dispatcher.
CREATE TABLE resource_external (
    name        text        NOT NULL CHECK (name <> ''),
    queue_id    int         NOT NULL DEFAULT 0,
    total       bigint      NOT NULL CHECK (total >= 0),
    used        bigint      NOT NULL CHECK (used >= 0),
    reported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, queue_id)
);
COMMENT ON TABLE resource_external IS 'What the server of a resource last said: how many units there are, and how many are used, ours too. name: with its key, as in table:orders; queue_id 0: not per queue.';
COMMENT ON INDEX resource_external_pkey IS 'A report replaces the one before.';

ALTER TABLE shapes ADD COLUMN resources jsonb NOT NULL DEFAULT '{}', ADD COLUMN sharing_id text NOT NULL DEFAULT '';
COMMENT ON COLUMN shapes.resources IS 'Units of resources that a job holds, by name, as in {"maya": 1, "table:orders": 1}.';
COMMENT ON COLUMN shapes.sharing_id IS 'Whose share of the resources the job takes from: its user unless the task says otherwise; empty where it asks for none.';

ALTER TABLE limits DROP CONSTRAINT limits_kind_check;
ALTER TABLE limits ADD CONSTRAINT limits_kind_check CHECK (kind IN ('pool', 'queue', 'share', 'target_slots', 'resource'));

-- Another word of report.decisions.skipped_for. The view is made again out of its own text.
-- +goose StatementBegin
DO $$
DECLARE
    before_text text := pg_get_viewdef('report.decisions'::regclass);
    after_text  text := replace(before_text, $w$WHEN 'b'::text THEN 'borrow'::text$w$, $w$WHEN 'b'::text THEN 'borrow'::text WHEN 'r'::text THEN 'resource'::text$w$);
BEGIN
    IF after_text = before_text THEN
        RAISE EXCEPTION 'report.decisions is not as expected: %', before_text;
    END IF;
    EXECUTE 'CREATE OR REPLACE VIEW report.decisions AS ' || after_text;
    EXECUTE format('COMMENT ON TABLE decisions IS %L', replace(obj_description('decisions'::regclass), 'b borrowing.', 'b borrowing, r resources.'));
END $$;
-- +goose StatementEnd

-- Exact at the moment of reading, like report.shares_now: the checkpoint plus the part of the ledger that it does not have
-- yet. Jobs that do not hold anything are at no queue.
CREATE VIEW report.resource_holders AS
    WITH asking AS (
        SELECT s.id AS shape_id, s.label, s.sharing_id, s.cores > 0 AS of_job, split_part(e.key, ':', 1) AS resource,
            CASE WHEN strpos(e.key, ':') > 0 THEN substr(e.key, strpos(e.key, ':') + 1) END AS key, e.value::bigint AS units
        FROM public.shapes s
        CROSS JOIN LATERAL jsonb_each_text(s.resources) e
        WHERE s.resources <> '{}'
    ), moves AS (
        SELECT c.share_id, c.shape_id, c.queue_id, c.ready, c.held
        FROM public.counters c
        WHERE c.shape_id IN (SELECT shape_id FROM asking)
        UNION ALL
        SELECT m.share_id, m.shape_id, CASE s.state WHEN 'l' THEN m.queue_id ELSE 0 END,
            CASE s.state WHEN 'r' THEN s.n ELSE 0 END, CASE s.state WHEN 'l' THEN s.n ELSE 0 END
        FROM public.ledger_tail_moves m
        CROSS JOIN LATERAL (VALUES (m.before, -m.n), (m.after, m.n)) AS s (state, n)
        WHERE m.shape_id IN (SELECT shape_id FROM asking) AND s.state IN ('r', 'l')
    ), jobs AS (
        SELECT share_id, shape_id, queue_id, sum(ready) AS ready, sum(held) AS held
        FROM moves
        GROUP BY share_id, shape_id, queue_id
    ), listed AS (
        SELECT a.resource, a.key, q.name AS queue, coalesce(r.split_by, 'user') AS split_by, j.ready, j.held, a.units, a.of_job,
            CASE coalesce(r.split_by, 'user') WHEN 'share' THEN sh.path WHEN 'label' THEN a.label ELSE a.sharing_id END AS sharing_id
        FROM jobs j
        JOIN asking a USING (shape_id)
        LEFT JOIN public.site_resources r ON r.name = a.resource AND r.version = (SELECT max(version) FROM public.site_versions)
        LEFT JOIN public.shares sh ON sh.id = j.share_id
        LEFT JOIN public.queues q ON r.per_queue AND q.id = j.queue_id
    )
    SELECT resource, key, queue, sharing_id, split_by, coalesce(sum(held) FILTER (WHERE of_job), 0)::bigint AS held_jobs, sum(held * units)::bigint AS held_units,
        sum(ready)::bigint AS ready_jobs, sum(ready * units)::bigint AS wanted_units,
        coalesce(sum(held) FILTER (WHERE NOT of_job), 0)::bigint AS held_claims
    FROM listed
    GROUP BY resource, key, queue, sharing_id, split_by
    HAVING sum(held) <> 0 OR sum(ready) <> 0;
COMMENT ON VIEW report.resource_holders IS 'Who holds units of a resource and who waits for some: one row a resource and sharing ID, of a resource per queue one a queue too.';
COMMENT ON COLUMN report.resource_holders.resource IS 'Name of the resource.';
COMMENT ON COLUMN report.resource_holders.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';
COMMENT ON COLUMN report.resource_holders.queue IS 'Of a resource per queue: where the units are held; NULL: not per queue, or ready jobs, which are at no queue.';
COMMENT ON COLUMN report.resource_holders.sharing_id IS 'The user (or what the task said instead), path of the share or label, whichever the resource is split by.';
COMMENT ON COLUMN report.resource_holders.split_by IS 'user, share or label, as the site in force says; user for a resource that it does not have.';
COMMENT ON COLUMN report.resource_holders.held_jobs IS 'Jobs under a lease that hold units of it.';
COMMENT ON COLUMN report.resource_holders.held_units IS 'Units that they and held_claims hold.';
COMMENT ON COLUMN report.resource_holders.ready_jobs IS 'Jobs that wait for a slot and for units.';
COMMENT ON COLUMN report.resource_holders.wanted_units IS 'Units that they ask for, without those of claims that are to be bound.';
COMMENT ON COLUMN report.resource_holders.held_claims IS 'Resource claims that hold units of it: each counts as one that holds a shape without cores.';

CREATE VIEW report.resources AS
    WITH in_force AS (
        SELECT r.* FROM public.site_resources r WHERE r.version = (SELECT max(version) FROM public.site_versions)
    ), units AS (
        SELECT resource, coalesce(key, '') AS key, queue, sum(held_units) AS held, sum(wanted_units) AS wanted
        FROM report.resource_holders
        GROUP BY resource, coalesce(key, ''), queue
    ), keys AS (
        SELECT r.name, '' AS key FROM in_force r WHERE NOT r.keyed
        UNION
        SELECT r.name, k.key
        FROM in_force r
        JOIN (
            SELECT resource, key FROM units
            UNION SELECT name, key FROM public.resource_capacities
            UNION SELECT split_part(name, ':', 1), substr(name, strpos(name, ':') + 1) FROM public.resource_external WHERE strpos(name, ':') > 0
        ) k ON k.resource = r.name
        WHERE r.keyed AND k.key <> ''
    )
    SELECT r.name AS resource, nullif(k.key, '') AS key, q.name AS queue,
        coalesce(live.capacity, r.capacity) AS capacity, r.capacity AS file_capacity, live.set_at AS capacity_set_at,
        coalesce(u.held, 0)::bigint AS held_units, coalesce(w.wanted, 0)::bigint AS wanted_units,
        x.total AS external_total, x.used AS external_used, x.reported_at AS external_at,
        x.reported_at > now() - r.external_expires AS external_counts
    FROM in_force r
    JOIN keys k USING (name)
    LEFT JOIN public.queues q ON r.per_queue AND q.removed_in IS NULL
    LEFT JOIN LATERAL (
        SELECT c.capacity, c.set_at
        FROM public.resource_capacities c
        WHERE c.name = r.name AND c.key IN (k.key, '') AND c.queue_id IN (coalesce(q.id, 0), 0)
        ORDER BY c.key = k.key DESC, c.queue_id = coalesce(q.id, 0) DESC
        LIMIT 1
    ) live ON true
    LEFT JOIN units u ON u.resource = r.name AND u.key = k.key AND u.queue IS NOT DISTINCT FROM q.name
    LEFT JOIN (SELECT resource, key, sum(wanted) AS wanted FROM units GROUP BY resource, key) w ON w.resource = r.name AND w.key = k.key
    LEFT JOIN public.resource_external x
        ON x.name = r.name || CASE WHEN k.key = '' THEN '' ELSE ':' || k.key END AND x.queue_id = coalesce(q.id, 0);
COMMENT ON VIEW report.resources IS 'The resources of the site in force: one row a resource, of one per queue a row a queue, of a keyed family a row each key that is in use.';
COMMENT ON COLUMN report.resources.resource IS 'Name of the resource.';
COMMENT ON COLUMN report.resources.key IS 'Which of a keyed family, as orders of table:orders; NULL: it is none.';
COMMENT ON COLUMN report.resources.queue IS 'Of a resource per queue: the queue; else NULL.';
COMMENT ON COLUMN report.resources.capacity IS 'Units that may be held at once: what was set with divvy resource set, else what the file says.';
COMMENT ON COLUMN report.resources.file_capacity IS 'What the site file says.';
COMMENT ON COLUMN report.resources.capacity_set_at IS 'When another capacity than the file''s was set; NULL: none is.';
COMMENT ON COLUMN report.resources.held_units IS 'Units that jobs and claims hold now.';
COMMENT ON COLUMN report.resources.wanted_units IS 'Units that ready jobs ask for; of a resource per queue at any queue.';
COMMENT ON COLUMN report.resources.external_total IS 'Units that there are, as last reported from outside; NULL: never.';
COMMENT ON COLUMN report.resources.external_used IS 'Units in use by anybody, ours too, as last reported from outside.';
COMMENT ON COLUMN report.resources.external_at IS 'When that was reported.';
COMMENT ON COLUMN report.resources.external_counts IS 'Whether the report is young enough to count; NULL: there is none.';

-- +goose Down
DROP VIEW report.resources;
DROP VIEW report.resource_holders;
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW report.decisions AS ' || regexp_replace(pg_get_viewdef('report.decisions'::regclass),
        $w$\s+WHEN 'r'::text THEN 'resource'::text$w$, '');
    EXECUTE format('COMMENT ON TABLE decisions IS %L', replace(obj_description('decisions'::regclass), 'b borrowing, r resources.', 'b borrowing.'));
END $$;
-- +goose StatementEnd
DELETE FROM escrow WHERE kind = 'resource';
DELETE FROM limits WHERE kind = 'resource';
ALTER TABLE limits DROP CONSTRAINT limits_kind_check;
ALTER TABLE limits ADD CONSTRAINT limits_kind_check CHECK (kind IN ('pool', 'queue', 'share', 'target_slots'));
ALTER TABLE shapes DROP COLUMN resources, DROP COLUMN sharing_id;
DROP TABLE resource_external, resource_capacities, site_resources;
