-- The keys of these indexes end with the job's id, so no two entries are equal and there is nothing to deduplicate: a
-- full page is looked through for it in vain, which is 5 % of what a generated job costs. No page is rewritten.

-- +goose Up
ALTER INDEX jobs_ready SET (deduplicate_items = off);
ALTER INDEX jobs_task SET (deduplicate_items = off);

-- +goose Down
ALTER INDEX jobs_task RESET (deduplicate_items);
ALTER INDEX jobs_ready RESET (deduplicate_items);
