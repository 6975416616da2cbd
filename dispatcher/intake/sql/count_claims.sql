-- Writes how many jobs the log was told of, of locked claims.
UPDATE claim_keys c SET members = n.members, made = n.made
FROM unnest(@id::bigint[], @members::bigint[], @made::bigint[]) AS n (id, members, made)
WHERE c.id = n.id AND c.task_id > 0;
