-- Entries of the audit, the newest first: by the primary key backwards, until there are enough, or as many were looked at as
-- are to be. The inner order keeps every plan, the generic one too, from sorting a table of years.
SELECT a.id, a.at, a.who, a.role, a.subject, a.what, a.object, a.before, a.after
FROM (SELECT *
      FROM audit
      WHERE id < coalesce(nullif(@before::bigint, 0), 9223372036854775807)
      ORDER BY id DESC
      LIMIT nullif(@among::bigint, 0)) AS a
WHERE a.at >= @since::timestamptz
    AND (@who::text = '' OR a.who = @who::text) AND (@object::text = '' OR a.object = @object::text)
    AND (@what::text = '' OR a.what = @what::text OR split_part(a.what, '.', 1) = @what::text)
ORDER BY a.id DESC
LIMIT @limit::int
