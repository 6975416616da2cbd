-- Last use of many tokens at once.
UPDATE tokens SET used_at = now()
WHERE id = ANY (@ids::bigint[])
