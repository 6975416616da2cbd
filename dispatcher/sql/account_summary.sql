-- Has the BRIN of numbers sum up the pages that were written since: vacuum alone would do so when a day has grown by half, and
-- until then everything that looks for new numbers would read them. Of the newest days, or of all. Returns how many ranges.
SELECT coalesce(sum(brin_summarize_new_values(x.indexrelid)), 0)::int
FROM pg_inherits i
JOIN pg_index x ON x.indexrelid = i.inhrelid
JOIN pg_class c ON c.oid = x.indrelid
WHERE i.inhparent = 'attempts_nth_brin'::regclass
    AND (@all::boolean OR c.relname >= 'attempts_' || to_char((now() AT TIME ZONE 'UTC')::date - 1, 'YYYYMMDD')); -- and the default
