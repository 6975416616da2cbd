-- Jobs that were over without a lease before a time.
DELETE FROM over_ranges WHERE at < @before::timestamptz;
