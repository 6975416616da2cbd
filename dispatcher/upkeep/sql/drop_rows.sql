-- Deletes rows that are older than so many seconds, the oldest first; returns how many.
SELECT divvy_drop_rows(@name::text, @key::text, now() - make_interval(secs => @keep_s::float8), @most::int);
