-- A Harvester's next commands, oldest first. Those that another call is handing out are passed over.
WITH next AS (
    SELECT id FROM harvester_commands
    WHERE harvester_id = @harvester::text AND status = 'new'
    ORDER BY id LIMIT @n::int
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE harvester_commands c SET status = 'retrieved', changed_at = now()
    FROM next WHERE c.id = next.id AND c.status = 'new'
    RETURNING c.id, c.command, c.params, c.ack_requested, c.created_at
)
SELECT id, command, params, ack_requested, created_at FROM taken ORDER BY id;
