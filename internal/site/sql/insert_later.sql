-- A file for later. No row: the time is not in the future.
INSERT INTO site_later (effective_at, stored_by, note, file, source, moves, base_version)
SELECT @at::timestamptz, @by::text, @note::text, @file::text, @source::text, @moves::jsonb, @base_version::bigint
WHERE @at::timestamptz > now()
RETURNING id
