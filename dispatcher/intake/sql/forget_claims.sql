-- Claims that their task does not want any more: one of the same key is another one.
DELETE FROM claim_keys WHERE id = ANY (@ids::bigint[]) AND task_id > 0;
