-- Locks claims that are bound, in the order in which everybody does: their sharers stay as they are until the transaction ends.
SELECT id FROM resource_claims WHERE id = ANY (@claims::bigint[]) AND state IN ('bound', 'draining') ORDER BY id FOR UPDATE;
