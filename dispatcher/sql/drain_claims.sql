-- Claims that their task does not want any more, in the order of their ids: nobody else gets to hold them. One that nobody
-- holds is released as soon as its jobs are cancelled.
WITH locked AS MATERIALIZED (
    SELECT id FROM resource_claims WHERE id = ANY (@ids::bigint[]) ORDER BY id FOR UPDATE
)
UPDATE resource_claims SET state = 'draining', unplaced = false, changed = pg_current_xact_id()
WHERE id = ANY (@ids::bigint[]) AND state IN ('pending', 'bound') AND (SELECT count(*) FROM locked) > 0;
