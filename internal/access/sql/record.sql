-- What was done by whom, all in one statement. Texts are cut to what the table takes.
INSERT INTO audit (who, role, subject, token_id, what, object, before, after)
SELECT @who::text, @role::text, @subject::text, nullif(@token::bigint, 0), c.what, left(c.object, 200), left(c.before, 2000), left(c.after, 2000)
FROM unnest(@what::text[], @object::text[], @before::text[], @after::text[]) AS c (what, object, before, after)
