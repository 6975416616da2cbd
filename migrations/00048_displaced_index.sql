-- Ready jobs that no range has. At first it has all of them, and reads all live jobs for it; what is generated later is not in it.

-- +goose Up
CREATE INDEX jobs_displaced ON jobs (share_id, shape_id, place, id) WITH (deduplicate_items = off) WHERE state = 'ready' AND displaced;
COMMENT ON INDEX jobs_displaced IS 'Ready jobs of a share and shape in order that ready_ranges has not. 63 bytes a job. Renewals and claims do not touch it.';

-- +goose Down
DROP INDEX jobs_displaced;
