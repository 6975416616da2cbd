-- Commands that were done. One that was never handed out is not.
UPDATE harvester_commands SET status = 'acknowledged', changed_at = now()
WHERE id = ANY (@ids::bigint[]) AND status <> 'new';
