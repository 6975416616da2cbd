-- Messages of a Harvester; one that is sent again replaces the one before.
INSERT INTO harvester_dialogs (harvester_id, diag_id, module, identifier, level, message, said_at)
SELECT @harvester::text, d.id, d.module, d.identifier, d.level, d.message, d.at
FROM unnest(@ids::bigint[], @modules::text[], @identifiers::text[], @levels::text[], @messages::text[], @at::timestamptz[])
    AS d (id, module, identifier, level, message, at)
ON CONFLICT (harvester_id, diag_id) DO UPDATE SET module = excluded.module, identifier = excluded.identifier, level = excluded.level,
    message = excluded.message, said_at = excluded.said_at;
