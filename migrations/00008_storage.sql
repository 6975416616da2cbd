-- How tables are stored, and why each index of the hot ones is there.

-- +goose Up

-- Renewals change every lease again and again, in any order. With a seventh of each page free all of a million random
-- renewals were HOT, as with a half, and the heap stayed at 205 MB instead of 251 at 70 and 355 at 50; without free
-- space 91 % were.
ALTER TABLE leases SET (fillfactor = 85);

-- fillfactor stays 90: a failed attempt changes its row, and when one job in twenty does so, 99 % of these are HOT,
-- with 95 it is 85 %, with 100 none, at 2.5 times the time, and the ready index gets another entry at its head.
-- A vacuum reads all three indexes however little is dead: 0.1 µs a job in the table. With one after every fiftieth
-- job that is 5 µs an ended job, at a twentieth 2. Readers go on behind a cursor and do not mind the dead rows.
ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.05);

-- Rows of more than about 340 moves are over 8 kB: their arrays are compressed and go elsewhere. With 512 moves pglz
-- takes 0.85 µs of CPU a move, lz4 0.05, both for 16 bytes of WAL; stored as they are 0.1, for 30. So lz4, or as they
-- are where the server was built without. Rows of smaller batches are not compressed in any case.
-- +goose StatementBegin
DO $$
DECLARE
    name text;
    how  text := CASE WHEN EXISTS (SELECT FROM pg_settings s WHERE s.name = 'default_toast_compression' AND 'lz4' = ANY (s.enumvals))
        THEN 'COMPRESSION lz4' ELSE 'STORAGE EXTERNAL' END;
BEGIN
    FOREACH name IN ARRAY ARRAY['task_ids', 'share_ids', 'shape_ids', 'queue_ids', 'units'] LOOP
        EXECUTE format('ALTER TABLE ledger ALTER %I SET %s', name, how);
    END LOOP;
END $$;
-- +goose StatementEnd

-- A task's counts are updated every 300 ms while it runs; a pause of the vacuum among some hundred pages gains nothing.
-- fillfactor stays 50: two thirds of the updates in a trial touched no index, and all of these were HOT; at 70 58 in a
-- hundred updates were, at 100 three, in twice the time. Ended tasks stay in this table, or it would be less.
ALTER TABLE tasks SET (autovacuum_vacuum_cost_delay = 0);

-- Nothing to change: counters, counter_lanes, task_lanes, limits and escrow stay at 50. Each row of counters changed 30
-- times with no vacuum between: 99 % HOT and 640 kB; at 70 95 % and 992 kB, at 100 7 % and 8600 kB.

-- Who reads an index, and what a row costs in it: bytes of the index, bytes of WAL, time of the insert where it matters.
COMMENT ON INDEX jobs_pkey IS 'By id: claims that go by key, ends, cancel, GET of a job. 22 bytes a job, 66 of WAL: ids grow.';
COMMENT ON INDEX jobs_ready IS 'The ready jobs of a share and shape in order: windows read on from a cursor. 40 to 70 bytes a job, 113 of WAL, about 2 us when shares come mixed. Renewals and claims do not touch it.';
COMMENT ON INDEX jobs_task IS 'The live jobs of a task: pause, resume, abort, lists. 33 bytes a job, 86 of WAL, about 2 us when tasks come mixed.';
COMMENT ON INDEX leases_pkey IS 'By job: at most one lease a job, renewals, ends. 66 bytes of WAL a claim, 0.6 us. There is none on expires_at: every renewal would write it, and no longer be HOT.';
COMMENT ON INDEX ledger_pkey IS 'By lane and position: tails, folds, purge. An entry a batch, not a job.';
COMMENT ON INDEX attempts_job IS 'The attempts of a job, in order: history of a job, ends that are said twice. 31 bytes an attempt, 75 of WAL, 1 us.';
COMMENT ON INDEX ended_jobs_id IS 'By id: GET of a job that is over, ends that are said twice. 22 bytes a job, 66 of WAL, 1 us.';
COMMENT ON INDEX ended_jobs_task IS 'The ended jobs of a task: lists, failed ones that are tried again. 49 bytes a job, 93 of WAL, 1.7 us.';
COMMENT ON INDEX decisions_written IS 'Records of a stretch of time. An entry a second and daemon.';
COMMENT ON INDEX counters_pkey IS 'Target of the fold''s upserts. Folds do not change it: they are HOT.';
COMMENT ON INDEX pulls_pkey IS 'Request ids: a repeat finds its leases, and two at once meet. Pulls without one write nothing.';
COMMENT ON INDEX pulls_at IS 'Purge by age, once a minute. BRIN: a btree would cost each pull 0.5 us and 64 bytes of WAL; what that saves the purge, which must look at more pages here, comes to the same.';
COMMENT ON INDEX tasks_pkey IS 'By id.';
COMMENT ON INDEX tasks_idempotency IS 'A submission that is repeated finds its task. Tasks without a key are not in it.';
COMMENT ON INDEX tasks_live IS 'Tasks that are not over: generator and lists pass over all the others.';
COMMENT ON INDEX tasks_pieces_left IS 'What a generator takes next: tasks of a share with pieces left, best priority first. n_generated is in its predicate, so an update by generation is not HOT: 4.6 times the CPU, 3.5 times the WAL, once a task and batch.';
COMMENT ON INDEX tasks_sweep IS 'Tasks whose verb is not through; nearly always empty.';
COMMENT ON INDEX tasks_user IS 'Lists of a user''s tasks.';
COMMENT ON INDEX tasks_waiting IS 'Tasks that no rule has matched yet: looked at when the site changes.';
COMMENT ON INDEX inputs_pkey IS 'The inputs of a piece. An entry a thousand inputs.';

-- +goose Down
ALTER TABLE leases SET (fillfactor = 70);
ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE ledger
    ALTER task_ids SET STORAGE EXTENDED, ALTER task_ids SET COMPRESSION default,
    ALTER share_ids SET STORAGE EXTENDED, ALTER share_ids SET COMPRESSION default,
    ALTER shape_ids SET STORAGE EXTENDED, ALTER shape_ids SET COMPRESSION default,
    ALTER queue_ids SET STORAGE EXTENDED, ALTER queue_ids SET COMPRESSION default,
    ALTER units SET STORAGE EXTENDED, ALTER units SET COMPRESSION default;
ALTER TABLE tasks RESET (autovacuum_vacuum_cost_delay);
COMMENT ON INDEX jobs_pkey IS NULL;
COMMENT ON INDEX jobs_ready IS NULL;
COMMENT ON INDEX jobs_task IS NULL;
COMMENT ON INDEX leases_pkey IS NULL;
COMMENT ON INDEX ledger_pkey IS NULL;
COMMENT ON INDEX attempts_job IS NULL;
COMMENT ON INDEX ended_jobs_id IS NULL;
COMMENT ON INDEX ended_jobs_task IS NULL;
COMMENT ON INDEX decisions_written IS NULL;
COMMENT ON INDEX counters_pkey IS NULL;
COMMENT ON INDEX pulls_pkey IS NULL;
COMMENT ON INDEX pulls_at IS NULL;
COMMENT ON INDEX tasks_pkey IS NULL;
COMMENT ON INDEX tasks_idempotency IS NULL;
COMMENT ON INDEX tasks_live IS NULL;
COMMENT ON INDEX tasks_pieces_left IS NULL;
COMMENT ON INDEX tasks_sweep IS NULL;
COMMENT ON INDEX tasks_user IS NULL;
COMMENT ON INDEX tasks_waiting IS NULL;
COMMENT ON INDEX inputs_pkey IS NULL;
