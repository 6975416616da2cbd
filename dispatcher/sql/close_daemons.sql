-- The fence: none of their grants can commit after this transaction.
UPDATE daemons SET closed_at = now() WHERE id = ANY (@daemons::bigint[]) AND closed_at IS NULL;
