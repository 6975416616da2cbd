-- Entries of the audit, the newest first: by the primary key backwards, until there are enough.
SELECT id, at, who, role, subject, what, object, before, after
FROM audit
WHERE id < coalesce(nullif(@before::bigint, 0), 9223372036854775807) AND id >= @from::bigint AND at >= @since::timestamptz
    AND (@who::text = '' OR who = @who::text) AND (@object::text = '' OR object = @object::text)
    AND (@what::text = '' OR what = @what::text OR split_part(what, '.', 1) = @what::text)
ORDER BY id DESC
LIMIT @limit::int
