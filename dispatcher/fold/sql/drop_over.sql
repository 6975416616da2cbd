-- Jobs that were over without a lease before a time, at most so many ranges.
DELETE FROM over_ranges WHERE high = ANY (ARRAY(SELECT o.high FROM over_ranges o WHERE o.at < @before::timestamptz LIMIT @most::int));
